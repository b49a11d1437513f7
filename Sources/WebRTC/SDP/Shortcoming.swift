/// What a peer's description lacks or says wrongly.
struct Shortcoming: Error {
    /// The fault, as the end of a sentence that begins with "the offer" or "the answer".
    let what: String
    /// What should stand there.
    var remedy = ""
}
