func changeSections(_ options: RunOptions) -> [Section] {
    [
        stagesSection(options), trafficSection(options), areaSection(options), allocationSection(options),
        largeCostSection(options),
    ]
}
