"""The methods of `Stream`, by what they do: row by row, at other times, held until complete, ranked, paired, looped."""
