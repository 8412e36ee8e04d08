// Shares, as people write them: 30%.

export const EXPECTED_SHARE = 'a share from 1% to 100%'

/** Whether a value is a text from 1% to 100%. */
export function isShare(value: unknown): boolean {
  return typeof value === 'string' && /^(?:100|[1-9][0-9]?)%$/.test(value)
}
