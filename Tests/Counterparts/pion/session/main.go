// pion_session offers to receive two videos and a sound, and tells of each track what came, and by which name.
//
// Usage: pion_session SECONDS. Descriptions are lines of JSON, {"sdp": ...}, on standard output and input. At the end,
// when each track has brought thirty packets and a report, or the time is up, one more line tells of all tracks.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"strconv"
	"sync"
	"time"

	"github.com/pion/rtcp"
	"github.com/pion/webrtc/v3"
	"peers/whep"
)

const enough = 30

type track struct {
	MID       string   `json:"mid"`
	Kind      string   `json:"kind"`
	Codec     string   `json:"codec"`
	ClockRate uint32   `json:"clock_rate"`
	Packets   int      `json:"packets"`
	Lost      int      `json:"lost"`
	Frames    int      `json:"frames"`
	Names     []string `json:"names"`
	// The sources of the latest compound packet of reports.
	Reported int `json:"reported"`
}

var (
	lock   sync.Mutex
	tracks = map[string]*track{}
)

func main() {
	if err := play(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func play() error {
	seconds, err := strconv.ParseFloat(os.Args[1], 64)
	if err != nil {
		return err
	}
	feedback := []webrtc.RTCPFeedback{{Type: "ccm", Parameter: "fir"}, {Type: "nack"}, {Type: "nack", Parameter: "pli"}}
	api, err := whep.NewAPI([]string{"VP8"}, feedback, whep.RegisterWithOpus)
	if err != nil {
		return err
	}
	connection, err := api.NewPeerConnection(webrtc.Configuration{})
	if err != nil {
		return err
	}
	defer connection.Close()
	connection.OnTrack(func(remote *webrtc.TrackRemote, receiver *webrtc.RTPReceiver) {
		mid := ""
		for _, transceiver := range connection.GetTransceivers() {
			if transceiver.Receiver() == receiver {
				mid = transceiver.Mid()
			}
		}
		codec := remote.Codec()
		described := &track{MID: mid, Kind: remote.Kind().String(), Codec: codec.MimeType, ClockRate: codec.ClockRate}
		lock.Lock()
		tracks[mid] = described
		lock.Unlock()
		go described.readReports(receiver)
		described.readPackets(remote)
	})
	for _, kind := range []webrtc.RTPCodecType{webrtc.RTPCodecTypeVideo, webrtc.RTPCodecTypeAudio} {
		receiving := webrtc.RTPTransceiverInit{Direction: webrtc.RTPTransceiverDirectionRecvonly}
		if _, err := connection.AddTransceiverFromKind(kind, receiving); err != nil {
			return err
		}
	}
	// One more video, and the description.
	offer, err := whep.Offer(connection)
	if err != nil {
		return err
	}
	say(map[string]any{"sdp": offer})
	line, err := bufio.NewReaderSize(os.Stdin, 1<<20).ReadString('\n')
	if err != nil {
		return err
	}
	answer := map[string]string{}
	if err := json.Unmarshal([]byte(line), &answer); err != nil {
		return err
	}
	if err := whep.Accept(connection, answer["sdp"]); err != nil {
		return err
	}
	for end := time.Now().Add(time.Duration(seconds * float64(time.Second))); time.Now().Before(end) && !isDone(); {
		time.Sleep(50 * time.Millisecond)
	}
	lock.Lock()
	defer lock.Unlock()
	all := []*track{}
	for _, described := range tracks {
		all = append(all, described)
	}
	say(map[string]any{"tracks": all})
	return nil
}

func say(fields map[string]any) {
	line, _ := json.Marshal(fields)
	fmt.Println(string(line))
}

func isDone() bool {
	lock.Lock()
	defer lock.Unlock()
	for _, described := range tracks {
		if described.Packets < enough || len(described.Names) == 0 || described.Reported < 3 {
			return false
		}
	}
	return len(tracks) == 3
}

func (t *track) readPackets(remote *webrtc.TrackRemote) {
	last, began := uint16(0), false
	for {
		packet, _, err := remote.ReadRTP()
		if err != nil {
			return
		}
		lock.Lock()
		if began && packet.SequenceNumber != last+1 {
			t.Lost++
		}
		last, began = packet.SequenceNumber, true
		t.Packets++
		if packet.Marker {
			t.Frames++
		}
		lock.Unlock()
	}
}

func (t *track) readReports(receiver *webrtc.RTPReceiver) {
	for {
		packets, _, err := receiver.ReadRTCP()
		if err != nil {
			return
		}
		lock.Lock()
		reported := 0
		for _, packet := range packets {
			switch report := packet.(type) {
			case *rtcp.SenderReport:
				reported++
			case *rtcp.SourceDescription:
				for _, chunk := range report.Chunks {
					for _, item := range chunk.Items {
						if item.Type == rtcp.SDESCNAME && !contains(t.Names, item.Text) {
							t.Names = append(t.Names, item.Text)
						}
					}
				}
			}
		}
		if reported > 0 {
			t.Reported = reported
		}
		lock.Unlock()
	}
}

func contains(names []string, name string) bool {
	for _, known := range names {
		if known == name {
			return true
		}
	}
	return false
}
