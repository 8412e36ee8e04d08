import fc from 'fast-check'

/** Any code point, surrogates that stand alone included, as a unit of strings. The library's own `binary` takes seconds to begin with. */
export const ANY_UNIT = fc.nat(0x10_ff_ff).map((point) => String.fromCodePoint(point))
