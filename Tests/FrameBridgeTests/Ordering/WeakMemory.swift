/// What readers may see of a memory as weak as that of C11 in which they store nothing: the stores of its writer, in their order
/// for each location.
///
/// A load may see any store to its location that is no older than what the reader knows of: what it saw of that location before,
/// and all that came before a store that it acquired (the views of Kang et al., "A promising semantics for relaxed-memory
/// concurrency", POPL 2017, §3, without promises, which a single storer has no use for).
struct WeakMemory<Location: Hashable> {
    fileprivate struct Store {
        let index: Int
        let value: UInt64
        /// Whoever acquires it knows of all events before this one.
        let knowledge: Int
    }

    /// What one reader knows.
    struct View: Hashable {
        /// It sees all events before this one, ...
        private(set) var knowledge = 0
        /// ... after its next fence all before this one, ...
        private var knowledgeAfterFence = 0
        /// ... and of single locations what it saw of them.
        private var floors: [Location: Int] = [:]

        /// Sees all events before another one.
        mutating func learn(_ knowledge: Int) {
            guard knowledge > self.knowledge else { return }
            self.knowledge = knowledge
            knowledgeAfterFence = max(knowledgeAfterFence, knowledge)
            floors = floors.filter { $0.value >= knowledge }
        }

        /// Looks at another file from now on.
        mutating func forget() { floors = [:] }

        /// An acquire fence.
        mutating func fence() { learn(knowledgeAfterFence) }

        fileprivate func oldest(_ stores: [Store], _ location: Location) -> Int {
            max(stores.last { $0.index < knowledge }?.index ?? -1, floors[location] ?? -1)
        }

        fileprivate func after(_ store: Store, _ location: Location, acquiring: Bool) -> View {
            var view = self
            if store.index >= knowledge { view.floors[location] = store.index }
            view.knowledgeAfterFence = max(knowledgeAfterFence, store.knowledge)
            if acquiring { view.learn(store.knowledge) }
            return view
        }
    }

    private var stores: [Location: [Store]] = [:]

    /// Notes a store, which is the event of that index; later ones have higher indices.
    mutating func append(_ index: Int, _ value: UInt64, _ location: Location, knowledge: Int) {
        stores[location, default: []].append(Store(index: index, value: value, knowledge: knowledge))
    }

    /// All that a load may give after `now` events: each value with the view as it is then. Memory is zeros at first.
    func loads(_ location: Location, acquiring: Bool, by view: View, at now: Int) -> [(value: UInt64, view: View)] {
        let all = stores[location] ?? []
        let oldest = view.oldest(all, location)
        let untouched: [(value: UInt64, view: View)] = oldest < 0 ? [(UInt64(0), view)] : []
        return untouched
            + all.filter { $0.index >= oldest && $0.index < now }.map {
                ($0.value, view.after($0, location, acquiring: acquiring))
            }
    }

    /// What stands at a location after `now` events.
    func newest(_ location: Location, at now: Int) -> UInt64 { stores[location]?.last { $0.index < now }?.value ?? 0 }
}
