// pion_load opens many viewers in one process, by WHEP or of a room of Janus, and counts what they receive. They ask for picture
// and sound, send receiver reports but neither NACK nor PLI, and decode nothing: a packet that is lost stays lost. Counting begins
// when all are connected, which is told on standard error; of the sound, its packets are counted, by themselves.
// The URL of a room is janus+http://HOST:PORT/janus/ROOM.
// Usage: pion_load URL TOKEN COUNT SECONDS [VP8|VP9 [FIRST_PORT LAST_PORT]]
package main

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/pion/interceptor"
	"github.com/pion/webrtc/v3"
	"peers/whep"
)

const (
	connectTimeout = 20 * time.Second
	atOnce         = 4
)

type report struct {
	Viewers        int      `json:"viewers"`
	Connected      int      `json:"connected"`
	Packets        int64    `json:"packets"`
	Lost           int64    `json:"lost"`
	Bytes          int64    `json:"bytes"`
	Frames         int64    `json:"frames"`
	Seconds        float64  `json:"seconds"`
	ConnectSeconds float64  `json:"connect_seconds"`
	MinimumPackets int64    `json:"per_viewer_min_packets"`
	MaximumPackets int64    `json:"per_viewer_max_packets"`
	MaximumLost    int64    `json:"per_viewer_max_lost"`
	MinimumSound   int64    `json:"per_viewer_min_sound_packets"`
	Ended          int      `json:"ended_early"`
	Errors         []string `json:"errors"`
}

func main() {
	if len(os.Args) < 5 {
		fmt.Fprintln(os.Stderr, "usage: pion_load URL TOKEN COUNT SECONDS [VP8|VP9 [FIRST_PORT LAST_PORT]]")
		os.Exit(2)
	}
	count, countError := strconv.Atoi(os.Args[3])
	seconds, secondsError := strconv.ParseFloat(os.Args[4], 64)
	if countError != nil || secondsError != nil || count < 1 {
		fmt.Fprintln(os.Stderr, "COUNT and SECONDS must be numbers")
		os.Exit(2)
	}
	codecs := []string{"VP8", "VP9"}
	if len(os.Args) > 5 {
		codecs = os.Args[5:6]
	}
	if len(os.Args) > 7 {
		for index := range whep.Ports {
			port, err := strconv.ParseUint(os.Args[6+index], 10, 16)
			if err != nil {
				fmt.Fprintln(os.Stderr, "FIRST_PORT and LAST_PORT must be numbers")
				os.Exit(2)
			}
			whep.Ports[index] = uint16(port)
		}
	}
	report := run(os.Args[1], os.Args[2], count, seconds, codecs)
	line, _ := json.Marshal(report)
	fmt.Println(string(line))
	if report.Connected < count || len(report.Errors) > 0 {
		os.Exit(1)
	}
}

func run(url, token string, count int, seconds float64, codecs []string) report {
	stop := make(chan os.Signal, 1)
	signal.Notify(stop, syscall.SIGTERM, syscall.SIGINT)
	result := report{Viewers: count, Errors: []string{}}
	certificate, err := newCertificate()
	if err != nil {
		result.Errors = append(result.Errors, err.Error())
		return result
	}
	began := time.Now()
	viewers := make([]*viewer, count)
	failures := make([]error, count)
	each(count, func(index int) {
		viewers[index] = &viewer{connected: make(chan struct{})}
		failures[index] = viewers[index].open(url, token, codecs, certificate)
	})
	result.ConnectSeconds = time.Since(began).Seconds()
	fmt.Fprintln(os.Stderr, "all are connected, or have failed")

	before := make([]counts, count)
	for index, viewer := range viewers {
		before[index] = viewer.take()
	}
	began = time.Now()
	select {
	case <-stop:
	case <-time.After(time.Duration(seconds * float64(time.Second))):
	}
	result.Seconds = time.Since(began).Seconds()

	result.MinimumPackets, result.MinimumSound = -1, -1
	for index, viewer := range viewers {
		if failures[index] != nil {
			result.Errors = append(result.Errors, failures[index].Error())
			result.MinimumPackets, result.MinimumSound = 0, 0
			continue
		}
		result.add(viewer.take().since(before[index]), viewer.ended.Load())
	}
	each(count, func(index int) { viewers[index].close() })
	return result
}

func newCertificate() (*webrtc.Certificate, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	return webrtc.GenerateCertificate(key)
}

func each(count int, work func(index int)) {
	var group sync.WaitGroup
	free := make(chan struct{}, atOnce)
	for index := 0; index < count; index++ {
		group.Add(1)
		free <- struct{}{}
		go func(index int) {
			defer group.Done()
			work(index)
			<-free
		}(index)
	}
	group.Wait()
}

func (r *report) add(received counts, ended bool) {
	r.Connected++
	r.Packets += received.packets
	r.Lost += received.lost()
	r.Bytes += received.bytes
	r.Frames += received.frames
	if r.MinimumPackets < 0 || received.packets < r.MinimumPackets {
		r.MinimumPackets = received.packets
	}
	if received.packets > r.MaximumPackets {
		r.MaximumPackets = received.packets
	}
	if r.MinimumSound < 0 || received.sound < r.MinimumSound {
		r.MinimumSound = received.sound
	}
	if received.lost() > r.MaximumLost {
		r.MaximumLost = received.lost()
	}
	if ended {
		r.Ended++
	}
}

// counts of one viewer: highest counts sequence numbers on from the first packet's.
type counts struct{ packets, bytes, frames, highest, sound int64 }

func (c counts) since(earlier counts) counts {
	return counts{
		c.packets - earlier.packets, c.bytes - earlier.bytes, c.frames - earlier.frames, c.highest - earlier.highest,
		c.sound - earlier.sound,
	}
}

func (c counts) lost() int64 { return c.highest - c.packets }

type viewer struct {
	connection *webrtc.PeerConnection
	session    *whep.Session
	connected  chan struct{}
	once       sync.Once
	ended      atomic.Bool
	mutex      sync.Mutex
	counts     counts
}

func (v *viewer) take() counts {
	v.mutex.Lock()
	defer v.mutex.Unlock()
	return v.counts
}

func (v *viewer) open(url, token string, codecs []string, certificate *webrtc.Certificate) error {
	reports := func(media *webrtc.MediaEngine, registry *interceptor.Registry) error {
		if err := whep.RegisterOpus(media); err != nil {
			return err
		}
		return webrtc.ConfigureRTCPReports(registry)
	}
	api, err := whep.NewAPI(codecs, nil, reports)
	if err != nil {
		return err
	}
	v.connection, err = api.NewPeerConnection(webrtc.Configuration{Certificates: []webrtc.Certificate{*certificate}})
	if err != nil {
		return err
	}
	v.connection.OnConnectionStateChange(func(state webrtc.PeerConnectionState) {
		switch state {
		case webrtc.PeerConnectionStateConnected:
			v.once.Do(func() { close(v.connected) })
		case webrtc.PeerConnectionStateFailed, webrtc.PeerConnectionStateClosed:
			v.ended.Store(true)
		}
	})
	v.connection.OnTrack(func(track *webrtc.TrackRemote, _ *webrtc.RTPReceiver) { v.read(track) })
	if room := strings.TrimPrefix(url, "janus+"); room != url {
		err = v.subscribe(room)
	} else {
		err = v.join(url, token)
	}
	if err != nil {
		return err
	}
	select {
	case <-v.connected:
		return nil
	case <-time.After(connectTimeout):
		return fmt.Errorf("not connected after %v, but %v", connectTimeout, v.connection.ConnectionState())
	}
}

func (v *viewer) join(url, token string) error {
	receiving := webrtc.RTPTransceiverInit{Direction: webrtc.RTPTransceiverDirectionRecvonly}
	if _, err := v.connection.AddTransceiverFromKind(webrtc.RTPCodecTypeAudio, receiving); err != nil {
		return err
	}
	offer, err := whep.Offer(v.connection)
	if err != nil {
		return err
	}
	if v.session, _, err = whep.Post(url, token, offer); err != nil {
		return err
	}
	return whep.Accept(v.connection, v.session.Answer)
}

func (v *viewer) read(track *webrtc.TrackRemote) {
	var last uint16
	for {
		packet, _, err := track.ReadRTP()
		if err != nil {
			return
		}
		v.mutex.Lock()
		if track.Kind() == webrtc.RTPCodecTypeAudio {
			v.counts.sound++
			v.mutex.Unlock()
			continue
		}
		if v.counts.packets == 0 {
			last = packet.SequenceNumber - 1
		}
		if ahead := int16(packet.SequenceNumber - last); ahead > 0 {
			v.counts.highest += int64(ahead)
			last = packet.SequenceNumber
		}
		v.counts.packets++
		v.counts.bytes += int64(len(packet.Payload))
		if packet.Marker {
			v.counts.frames++
		}
		v.mutex.Unlock()
	}
}

func (v *viewer) close() {
	if v.session != nil {
		v.session.Delete()
	}
	if v.connection != nil {
		v.connection.Close()
	}
}
