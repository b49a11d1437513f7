// pion_viewer is a WHEP viewer on Pion, a WebRTC stack in Go. It does not decode: it counts packets and, as frames, the
// packets that end one, and reads the size from key frames (VP8) or the scalability structure (VP9).
package main

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"reflect"
	"regexp"
	"sync"
	"syscall"
	"time"
	"unsafe"

	"github.com/pion/dtls/v2"
	"github.com/pion/rtp/codecs"
	"github.com/pion/webrtc/v3"
	"peers/whep"
)

type report struct {
	Connected   bool     `json:"connected"`
	Frames      int      `json:"frames"`
	Packets     int      `json:"packets"`
	Width       *int     `json:"width"`
	Height      *int     `json:"height"`
	Codec       *string  `json:"codec"`
	State       string   `json:"state"`
	SRTP        *string  `json:"srtp"`
	DTLS        *string  `json:"dtls"`
	SetupAnswer *string  `json:"setup_answer"`
	Pair        *string  `json:"pair"`
	Status      *int     `json:"status"`
	ETag        *string  `json:"etag"`
	Links       []string `json:"links"`
	Deleted     *int     `json:"deleted"`
	Error       *string  `json:"error"`
}

type viewer struct {
	sync.Mutex
	report
}

var (
	token        = flag.String("token", "", "bearer token")
	codec        = flag.String("codec", "", "offer no other codec: VP8 or VP9")
	seconds      = flag.Float64("seconds", 10, "stop so long after the answer")
	frames       = flag.Int("frames", 0, "stop after so many frames")
	setup        = flag.String("setup", "", "the DTLS role that is offered: actpass, active or passive")
	noCandidates = flag.Bool("no-candidates", false, "send the offer without candidates")
)

func main() {
	url := arguments()
	viewer := &viewer{report: report{State: "new", Links: []string{}}}
	if err := viewer.play(url); err != nil {
		viewer.Error = text(err.Error())
	}
	viewer.Lock()
	line, _ := json.Marshal(viewer.report)
	fmt.Println(string(line))
	if !viewer.Connected || viewer.Error != nil {
		os.Exit(1)
	}
}

// arguments takes the options before and after the URL.
func arguments() string {
	flag.Parse()
	url := flag.Arg(0)
	if flag.NArg() > 1 {
		flag.CommandLine.Parse(flag.Args()[1:])
	}
	if url == "" || *codec != "" && *codec != "VP8" && *codec != "VP9" {
		flag.Usage()
		os.Exit(2)
	}
	return url
}

func (v *viewer) play(url string) error {
	stop := make(chan os.Signal, 1)
	signal.Notify(stop, syscall.SIGTERM, syscall.SIGINT)
	names := []string{"VP8", "VP9"}
	if *codec != "" {
		names = []string{*codec}
	}
	feedback := []webrtc.RTCPFeedback{{Type: "ccm", Parameter: "fir"}, {Type: "nack"}, {Type: "nack", Parameter: "pli"}}
	api, err := whep.NewAPI(names, feedback, webrtc.RegisterDefaultInterceptors)
	if err != nil {
		return err
	}
	connection, err := api.NewPeerConnection(webrtc.Configuration{})
	if err != nil {
		return err
	}
	defer connection.Close()
	connection.OnConnectionStateChange(v.enter)
	connection.OnTrack(func(track *webrtc.TrackRemote, _ *webrtc.RTPReceiver) { v.read(track) })
	offer, err := whep.Offer(connection)
	if err != nil {
		return err
	}
	session, status, err := whep.Post(url, *token, edited(offer))
	if status != 0 {
		v.Status = &status
	}
	if err != nil {
		return err
	}
	defer func() {
		if status, err := session.Delete(); err == nil {
			v.Deleted = &status
		}
	}()
	v.Links = append(v.Links, session.Header.Values("Link")...)
	v.ETag = text(session.Header.Get("ETag"))
	v.SetupAnswer = match(`(?m)^a=setup:(\w+)`, session.Answer)
	if payloadType := match(`(?m)^m=video \S+ \S+ (\d+)`, session.Answer); payloadType != nil {
		v.Codec = match(`(?m)^a=rtpmap:`+*payloadType+` ([^/]+)/`, session.Answer)
	}
	if err := whep.Accept(connection, session.Answer); err != nil {
		return err
	}
	v.wait(stop)
	return v.describe(connection.SCTP().Transport())
}

func edited(offer string) string {
	if *noCandidates {
		offer = regexp.MustCompile(`(?m)^a=(candidate:|end-of-candidates).*\r\n`).ReplaceAllString(offer, "")
	}
	if *setup != "" {
		offer = regexp.MustCompile(`(?m)^a=setup:\w+`).ReplaceAllString(offer, "a=setup:"+*setup)
	}
	return offer
}

func (v *viewer) enter(state webrtc.PeerConnectionState) {
	v.Lock()
	defer v.Unlock()
	v.State = state.String()
	v.Connected = v.Connected || state == webrtc.PeerConnectionStateConnected
}

// wait returns when the time is up, enough was received, the connection has ended or a signal came.
func (v *viewer) wait(stop chan os.Signal) {
	deadline := time.After(time.Duration(*seconds * float64(time.Second)))
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case <-stop:
			return
		case <-deadline:
			return
		case <-tick.C:
			v.Lock()
			done := *frames > 0 && v.Frames >= *frames || v.State == "failed" || v.State == "closed"
			v.Unlock()
			if done {
				return
			}
		}
	}
}

func (v *viewer) read(track *webrtc.TrackRemote) {
	for {
		packet, _, err := track.ReadRTP()
		if err != nil {
			return
		}
		width, height := size(track.Codec().MimeType, packet.Payload)
		v.Lock()
		v.Packets++
		if packet.Marker {
			v.Frames++
		}
		if width > 0 {
			v.Width, v.Height = &width, &height
		}
		v.Unlock()
	}
}

// size reads the size of the picture from the payload of a packet, or returns zeros.
func size(mimeType string, payload []byte) (int, int) {
	switch mimeType {
	case webrtc.MimeTypeVP8:
		packet := codecs.VP8Packet{}
		frame, err := packet.Unmarshal(payload)
		start := packet.S == 1 && packet.PID == 0
		if err != nil || !start || len(frame) < 10 || frame[0]&1 != 0 {
			return 0, 0
		}
		width, height := binary.LittleEndian.Uint16(frame[6:]), binary.LittleEndian.Uint16(frame[8:])
		return int(width & 0x3fff), int(height & 0x3fff)
	case webrtc.MimeTypeVP9:
		packet := codecs.VP9Packet{}
		if _, err := packet.Unmarshal(payload); err == nil && len(packet.Width) > 0 {
			last := len(packet.Width) - 1
			return int(packet.Width[last]), int(packet.Height[last])
		}
	}
	return 0, 0
}

// describe reports the ciphers and candidates in use.
func (v *viewer) describe(transport *webrtc.DTLSTransport) error {
	if pair, err := transport.ICETransport().GetSelectedCandidatePair(); err == nil && pair != nil {
		v.Pair = text(pair.Local.Typ.String() + "-" + pair.Remote.Typ.String())
	}
	if transport.State() != webrtc.DTLSTransportStateConnected {
		return nil
	}
	v.DTLS = text("1.2") // Pion has no other.
	// Pion keeps the SRTP profile to itself.
	field := reflect.ValueOf(transport).Elem().FieldByName("conn")
	if !field.IsValid() {
		return errors.New("this Pion keeps its DTLS connection elsewhere")
	}
	connection := *(**dtls.Conn)(unsafe.Pointer(field.UnsafeAddr()))
	profile, _ := connection.SelectedSRTPProtectionProfile()
	v.SRTP = text(map[dtls.SRTPProtectionProfile]string{
		dtls.SRTP_AES128_CM_HMAC_SHA1_80: "SRTP_AES128_CM_HMAC_SHA1_80",
		dtls.SRTP_AES128_CM_HMAC_SHA1_32: "SRTP_AES128_CM_HMAC_SHA1_32",
		dtls.SRTP_AEAD_AES_128_GCM:       "SRTP_AEAD_AES_128_GCM",
		dtls.SRTP_AEAD_AES_256_GCM:       "SRTP_AEAD_AES_256_GCM",
	}[profile])
	return nil
}

// text is null in the report if it is empty.
func text(value string) *string {
	if value == "" {
		return nil
	}
	return &value
}

func match(pattern, input string) *string {
	found := regexp.MustCompile(pattern).FindStringSubmatch(input)
	if found == nil {
		return nil
	}
	return &found[1]
}
