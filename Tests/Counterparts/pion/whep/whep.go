// Package whep has what the WHEP viewers on Pion have in common: the HTTP exchange and the peer connection.
package whep

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/pion/ice/v2"
	"github.com/pion/interceptor"
	"github.com/pion/webrtc/v3"
)

// Session is a WHEP session on a server.
type Session struct {
	Answer   string
	Header   http.Header
	location string
	token    string
}

// Ports are the UDP ports of the media, first and last; any if they are 0.
var Ports [2]uint16

// From is the IPv4 address that requests and media come from; nil for any.
var From net.IP

var client = &http.Client{Timeout: 15 * time.Second, Transport: &http.Transport{Proxy: nil, DialContext: dial}}

func dial(ctx context.Context, network, address string) (net.Conn, error) {
	dialer := net.Dialer{}
	if From != nil {
		dialer.LocalAddr = &net.TCPAddr{IP: From}
	}
	return dialer.DialContext(ctx, network, address)
}

// Post sends the offer and tells the status of the answer, 0 if there was none.
func Post(url, token, offer string) (*Session, int, error) {
	response, err := send("POST", url, token, offer)
	if err != nil {
		return nil, 0, err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		return nil, response.StatusCode, err
	}
	if response.StatusCode != http.StatusCreated {
		text := strings.TrimSpace(string(body))
		return nil, response.StatusCode, fmt.Errorf("POST was answered with %d: %s", response.StatusCode, text)
	}
	location, err := response.Location()
	if err != nil {
		return nil, response.StatusCode, err
	}
	return &Session{string(body), response.Header, location.String(), token}, response.StatusCode, nil
}

// Delete ends the session and tells the status.
func (s *Session) Delete() (int, error) {
	response, err := send("DELETE", s.location, s.token, "")
	if err != nil {
		return 0, err
	}
	response.Body.Close()
	return response.StatusCode, nil
}

func send(method, url, token, body string) (*http.Response, error) {
	request, err := http.NewRequest(method, url, strings.NewReader(body))
	if err != nil {
		return nil, err
	}
	if token != "" {
		request.Header.Set("Authorization", "Bearer "+token)
	}
	if body != "" {
		request.Header.Set("Content-Type", "application/sdp")
		request.Header.Set("Accept", "application/sdp")
	}
	return client.Do(request)
}

// NewAPI makes a Pion that knows the named codecs, IPv4 and no mDNS.
func NewAPI(codecs []string, feedback []webrtc.RTCPFeedback, intercept func(*webrtc.MediaEngine,
	*interceptor.Registry) error) (*webrtc.API, error) {
	media := &webrtc.MediaEngine{}
	for index, name := range codecs {
		capability := webrtc.RTPCodecCapability{MimeType: "video/" + name, ClockRate: 90000, RTCPFeedback: feedback}
		if name == "VP9" {
			capability.SDPFmtpLine = "profile-id=0"
		}
		parameters := webrtc.RTPCodecParameters{RTPCodecCapability: capability, PayloadType: webrtc.PayloadType(96 + index)}
		if err := media.RegisterCodec(parameters, webrtc.RTPCodecTypeVideo); err != nil {
			return nil, err
		}
	}
	registry := &interceptor.Registry{}
	if err := intercept(media, registry); err != nil {
		return nil, err
	}
	settings := webrtc.SettingEngine{}
	settings.SetNetworkTypes([]webrtc.NetworkType{webrtc.NetworkTypeUDP4})
	settings.SetICEMulticastDNSMode(ice.MulticastDNSModeDisabled)
	if From != nil {
		settings.SetIPFilter(func(address net.IP) bool { return address.Equal(From) })
		settings.SetIncludeLoopbackCandidate(From.IsLoopback())
	}
	if Ports[0] > 0 {
		if err := settings.SetEphemeralUDPPortRange(Ports[0], Ports[1]); err != nil {
			return nil, err
		}
	}
	return webrtc.NewAPI(webrtc.WithMediaEngine(media), webrtc.WithInterceptorRegistry(registry),
		webrtc.WithSettingEngine(settings)), nil
}

// RegisterOpus makes Opus known.
func RegisterOpus(media *webrtc.MediaEngine) error {
	opus := webrtc.RTPCodecCapability{MimeType: webrtc.MimeTypeOpus, ClockRate: 48000, Channels: 2}
	parameters := webrtc.RTPCodecParameters{RTPCodecCapability: opus, PayloadType: 111}
	return media.RegisterCodec(parameters, webrtc.RTPCodecTypeAudio)
}

// RegisterWithOpus makes the usual interceptors, and Opus known.
func RegisterWithOpus(media *webrtc.MediaEngine, registry *interceptor.Registry) error {
	if err := RegisterOpus(media); err != nil {
		return err
	}
	return webrtc.RegisterDefaultInterceptors(media, registry)
}

// Offer makes the connection receive video and returns its offer, candidates included.
func Offer(connection *webrtc.PeerConnection) (string, error) {
	receiving := webrtc.RTPTransceiverInit{Direction: webrtc.RTPTransceiverDirectionRecvonly}
	if _, err := connection.AddTransceiverFromKind(webrtc.RTPCodecTypeVideo, receiving); err != nil {
		return "", err
	}
	offer, err := connection.CreateOffer(nil)
	if err != nil {
		return "", err
	}
	gathered := webrtc.GatheringCompletePromise(connection)
	if err := connection.SetLocalDescription(offer); err != nil {
		return "", err
	}
	<-gathered
	return connection.LocalDescription().SDP, nil
}

// Accept takes the answer.
func Accept(connection *webrtc.PeerConnection, answer string) error {
	return connection.SetRemoteDescription(webrtc.SessionDescription{Type: webrtc.SDPTypeAnswer, SDP: answer})
}
