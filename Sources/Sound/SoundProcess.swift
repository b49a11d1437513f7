import Time
