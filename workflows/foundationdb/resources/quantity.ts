// Quantities of Kubernetes, such as `100m` CPU or `8Gi` memory.

const DECIMAL = { n: 1e-9, u: 1e-6, m: 1e-3, '': 1, k: 1e3, M: 1e6, G: 1e9, T: 1e12, P: 1e15, E: 1e18 }
const BINARY = { Ki: 2 ** 10, Mi: 2 ** 20, Gi: 2 ** 30, Ti: 2 ** 40, Pi: 2 ** 50, Ei: 2 ** 60 }
const FACTORS: Readonly<Record<string, number>> = { ...DECIMAL, ...BINARY }

/** The number; undefined for a text of another form. */
export function quantityOf(text: string): number | undefined {
  const [, digits = '', unit = ''] = /^([+-]?[\d.]+(?:[eE][+-]?\d+)?)([A-Za-z]*)$/.exec(text) ?? []
  const [value, factor] = [Number(digits), FACTORS[unit]]
  return digits === '' || Number.isNaN(value) || factor === undefined ? undefined : value * factor
}
