// Numbers and percentages as users write them: 2, "2", 30%. Source: spec/chaos.md 1.2; Go's intstr.IntOrString and
// strconv.Atoi, with which chaos-controller reads them.

export const EXPECTED_SHARE = 'a share from 1% to 100%'

/** A number or a percentage; both are at least 1. */
export type Count = { readonly number: number } | { readonly percent: number }

const COUNT = /^\+?0*([1-9]\d{0,8})(%?)$/
const ALL = 100

/** A whole number, also as text, or a text such as 30%; undefined for anything else. */
export function readCount(value: unknown): Count | undefined {
  if (typeof value !== 'number' && typeof value !== 'string') return undefined
  const [, digits, sign] = COUNT.exec(String(value)) ?? []
  if (digits === undefined) return undefined
  const number = Number(digits)
  if (sign !== '%') return { number }
  return number <= ALL ? { percent: number } : undefined
}

/** Whether a value is a text from 1% to 100%. */
export function isShare(value: unknown): boolean {
  const count = readCount(value)
  return count !== undefined && 'percent' in count
}

/** The count as the injector's flags expect it. */
export function countText(count: Count): string {
  return 'percent' in count ? `${count.percent}%` : String(count.number)
}

/** Accepts `76`, `76%` and ` 76% `; undefined for any other text. */
export function readPercent(value: unknown): number | undefined {
  const count = readCount(typeof value === 'string' ? value.trim() : value)
  if (count === undefined) return undefined
  if ('percent' in count) return count.percent
  return count.number <= ALL ? count.number : undefined
}
