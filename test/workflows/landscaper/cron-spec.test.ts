import { describe, expect, it } from 'vitest'
import { cronProblem } from '../../../workflows/landscaper/cron.ts'

describe('a cron specification', () => {
  it.each([
    ...['* * * * *', '*/5 0-23/2 1,15 JAN-MAR mon-fri', '0 0 ? * 0', '  5  4 * * *  ', '59 23 31 12 6', '1/5 * * * *'],
    ...['@daily', '@hourly', '@every 1h30m', '@every 1.5h', 'CRON_TZ=Europe/Berlin 0 6 * * *', 'TZ=UTC @daily'],
  ])('may be %s', (text) => {
    expect(cronProblem(text)).toBeUndefined()
  })

  it.each([
    ['', '0 fields'],
    ['5', '1 field'],
    ['* * * *', '4 fields'],
    ['0 * * * * *', '6 fields'],
    ['60 * * * *', 'no value of the field minute'],
    ['* 24 * * *', 'no value of the field hour'],
    ['* * 0 * *', 'no value of the field day of month'],
    ['* * * 13 *', 'no value of the field month'],
    ['* * * * 7', 'no value of the field day of week'],
    ['* * * foo *', 'no value of the field month'],
    ['5-3 * * * *', 'no value of the field minute'],
    ['*/0 * * * *', 'no value of the field minute'],
    ['1--2 * * * *', 'no value of the field minute'],
    ['1, * * * *', 'no value of the field minute'],
    ['*/5/5 * * * *', 'no value of the field minute'],
    ['@sometimes', 'a descriptor that is unknown'],
    ['@every', 'a descriptor that is unknown'],
    ['@every soon', 'a descriptor that is unknown'],
    ['TZ=Europe/?? * * * * *', 'a time zone that is unknown'],
    ['*'.repeat(2000), '2000 characters'],
  ])('cannot be "%s"', (text, found) => {
    expect(cronProblem(text)).toBe(found)
  })
})
