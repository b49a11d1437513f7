extension BandwidthEstimator {
    /// Packets to send faster than usual in order to measure the link; padding if there is nothing else to send.
    package struct Probe: Sendable, Equatable {
        /// Bits a second.
        package var rate: Double
        /// The fewest bytes and packets left to send.
        package private(set) var size: Int
        package private(set) var packets: Int

        /// - Parameters:
        ///   - rate: bits a second.
        ///   - time: the shortest duration in seconds.
        init(rate: Double, time: Double) {
            self.rate = rate
            size = Int(rate / 8 * time)
            packets = PacketTrains.fewestPackets + 2
        }

        /// The rest of the probe after a packet of `size` bytes; nil if there is none.
        package func after(packetOf size: Int) -> Probe? {
            var rest = self
            (rest.size, rest.packets) = (self.size - size, packets - 1)
            return rest.size > 0 || rest.packets > 0 ? rest : nil
        }
    }
}
