print("oriel")
