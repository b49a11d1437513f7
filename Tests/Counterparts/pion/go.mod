module peers

go 1.19

require github.com/pion/webrtc/v3 v3.1.56
