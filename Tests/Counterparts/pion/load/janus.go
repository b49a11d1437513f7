package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"path"
	"strconv"
	"strings"
	"time"

	"github.com/pion/webrtc/v3"
)

type description struct {
	Type string `json:"type"`
	SDP  string `json:"sdp"`
}

// message is what Janus says by its API over HTTP, as far as a viewer needs it.
type message struct {
	Janus string `json:"janus"`
	Data  struct {
		ID uint64 `json:"id"`
	} `json:"data"`
	Plugin struct {
		Data struct {
			Error        string `json:"error"`
			Participants []struct {
				ID        uint64 `json:"id"`
				Publisher bool   `json:"publisher"`
			} `json:"participants"`
		} `json:"data"`
	} `json:"plugindata"`
	Description *description `json:"jsep"`
}

type fields map[string]any

// Each viewer waits for one answer at a time, for as long as Janus holds a request.
var client = &http.Client{Timeout: 40 * time.Second, Transport: &http.Transport{MaxIdleConnsPerHost: 2 * atOnce}}

func decode(response *http.Response, err error) (message, error) {
	var result message
	if err != nil {
		return result, err
	}
	defer response.Body.Close()
	err = json.NewDecoder(response.Body).Decode(&result)
	if err == nil && (result.Janus == "error" || result.Plugin.Data.Error != "") {
		err = fmt.Errorf("Janus refuses: %s", result.Plugin.Data.Error)
	}
	return result, err
}

func post(url string, request fields) (message, error) {
	request["transaction"] = "t"
	body, err := json.Marshal(request)
	if err != nil {
		return message{}, err
	}
	return decode(client.Post(url, "application/json", bytes.NewReader(body)))
}

// subscribe joins a room as a viewer of its first publisher. The address is the server's, and the room's number.
func (v *viewer) subscribe(url string) error {
	server, room := strings.TrimSuffix(url, "/"+path.Base(url)), path.Base(url)
	number, err := strconv.Atoi(room)
	if err != nil {
		return err
	}
	created, err := post(server, fields{"janus": "create"})
	if err != nil {
		return err
	}
	session := fmt.Sprintf("%s/%d", server, created.Data.ID)
	attached, err := post(session, fields{"janus": "attach", "plugin": "janus.plugin.videoroom"})
	if err != nil {
		return err
	}
	handle := fmt.Sprintf("%s/%d", session, attached.Data.ID)
	say := func(body fields, answer *description) (message, error) {
		request := fields{"janus": "message", "body": body}
		if answer != nil {
			request["jsep"] = answer
		}
		said, err := post(handle, request)
		for err == nil && said.Janus != "success" && said.Janus != "event" {
			said, err = decode(client.Get(session + "?maxev=1"))
		}
		return said, err
	}
	list, err := say(fields{"request": "listparticipants", "room": number}, nil)
	if err != nil {
		return err
	}
	streams := []fields{}
	for _, one := range list.Plugin.Data.Participants {
		if one.Publisher {
			streams = append(streams, fields{"feed": one.ID})
		}
	}
	if len(streams) == 0 {
		return fmt.Errorf("nobody publishes in room %d", number)
	}
	join := fields{"request": "join", "ptype": "subscriber", "room": number, "streams": streams[:1]}
	offer, err := say(join, nil)
	if err != nil {
		return err
	}
	if offer.Description == nil {
		return fmt.Errorf("Janus offers nothing")
	}
	remote := webrtc.SessionDescription{Type: webrtc.SDPTypeOffer, SDP: offer.Description.SDP}
	if err := v.connection.SetRemoteDescription(remote); err != nil {
		return err
	}
	answer, err := v.connection.CreateAnswer(nil)
	if err != nil {
		return err
	}
	gathered := webrtc.GatheringCompletePromise(v.connection)
	if err := v.connection.SetLocalDescription(answer); err != nil {
		return err
	}
	<-gathered
	_, err = say(fields{"request": "start"}, &description{"answer", v.connection.LocalDescription().SDP})
	return err
}
