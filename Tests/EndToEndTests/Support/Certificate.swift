import TestSupport

/// Makes a certificate that nobody has signed but itself, and its key, as an ordinary user's files.
///
/// - Parameters:
///   - names: hosts, with or without a wildcard, and addresses.
///   - folder: the ordinary user's.
func makeCertificate(
    for names: [String],
    in folder: TemporaryDirectory
) throws -> (key: String, certificate: String) {
    let (key, certificate) = (folder.file("key.pem"), folder.file("certificate.pem"))
    let request = [
        "openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2",
        "-subj", "/CN=oriel.test", "-addext",
        "subjectAltName=\(names.map { "\(isAddress($0) ? "IP" : "DNS"):\($0)" }.joined(separator: ","))",
        "-keyout", key, "-out", certificate,
    ]
    try Subprocess.run(OrdinaryUser.shared.running(request))
    return (key, certificate)
}

private func isAddress(_ name: String) -> Bool {
    name.contains(":") || name.allSatisfy { "0123456789.".contains($0) }
}
