import { describe, expect, it } from 'vitest'

import {
  type FlagTable,
  givenFlags,
  flagHelp,
  joinFlagTables,
  requireFlag,
  readFlags,
} from '../../../worker/server/flags.ts'
import { UsageError } from '../../../worker/server/usage-error.ts'

const TABLE = {
  name: { takes: '<name>', reads: 'text', text: 'what it is called', otherwise: 'local' },
  file: { takes: '<file>', reads: 'text', text: 'where it is', default: '$FILE' },
  'every-ms': { takes: '<ms>', reads: 'number', least: 100, text: 'how often', otherwise: 250 },
  limit: { takes: '<duration>', reads: 'duration', text: 'how long', otherwise: '5m' },
  guests: {
    takes: '<names>',
    reads: 'list',
    text: 'who may come',
    accepts: (entry: string) => /^[a-z]+$/.test(entry),
    expected: 'names',
  },
  loud: { takes: '<yes-or-no>', reads: 'yes-or-no', text: 'whether it is heard', otherwise: 'no' },
} as const satisfies FlagTable

describe('the flags of a table', () => {
  it('have defaults', () => {
    expect(readFlags(TABLE, {})).toEqual({
      name: 'local',
      file: undefined,
      'every-ms': 250,
      limit: 300_000,
      guests: [],
      loud: false,
    })
  })

  it('are parsed by their type', () => {
    const values = readFlags(TABLE, {
      name: 'a',
      file: 'b',
      'every-ms': '100',
      limit: 'none',
      guests: 'ann, bob',
      loud: 'yes',
    })
    expect(values).toEqual({
      name: 'a',
      file: 'b',
      'every-ms': 100,
      limit: undefined,
      guests: ['ann', 'bob'],
      loud: true,
    })
    const typed: { readonly name: string; readonly guests: readonly string[]; readonly loud: boolean } = values
    expect(typed).toBe(values)
  })

  it.each([
    [{ 'every-ms': '99' }, '--every-ms: found "99"; expected a whole number of at least 100'],
    [{ 'every-ms': '' }, '--every-ms: found ""; expected a whole number of at least 100'],
    [{ 'every-ms': '100.5' }, '--every-ms: found "100.5"; expected a whole number of at least 100'],
    [{ limit: '5' }, '--limit: found "5"; expected a duration such as 1m30s, or none'],
    [{ guests: 'ann,b0b' }, '--guests has "b0b"; expected names'],
    [{ guests: '' }, '--guests has ""; expected names'],
    [{ loud: 'maybe' }, '--loud: found "maybe"; expected yes or no'],
  ])('%j are refused with what was found and what was expected', (given: Readonly<Record<string, string>>, message) => {
    expect(() => readFlags(TABLE, given)).toThrow(new UsageError(message))
  })

  it('show their default in the help', () => {
    expect(Object.values(TABLE).map(flagHelp)).toEqual([
      ...['what it is called (default: local)', 'where it is (default: $FILE)', 'how often (default: 250)'],
      ...['how long (default: 5m)', 'who may come', 'whether it is heard (default: no)'],
    ])
    expect(flagHelp({ takes: '<x>', reads: 'text', text: 'plain' })).toBe('plain')
  })
})

describe('the flags of a process', () => {
  it('are the flags of its table; unknown flags are rejected', () => {
    expect(givenFlags(TABLE, ['--name=a', '--every-ms', '7'])).toEqual({ name: 'a', 'every-ms': '7' })
    expect(() => givenFlags(TABLE, ['--nane=a'])).toThrow("Unknown option '--nane'")
    expect(() => givenFlags(TABLE, ['a'])).toThrow("Unexpected argument 'a'")
  })

  it('are its own flags and the flags of wings, without duplicates', () => {
    const wing: FlagTable = { pods: { takes: '<count>', reads: 'number', least: 1, otherwise: 1, text: 'how many' } }
    expect(Object.keys(joinFlagTables(TABLE, wing))).toEqual([...Object.keys(TABLE), 'pods'])
    expect(() => joinFlagTables(TABLE, wing, wing)).toThrow('--pods is in two tables of flags; remove it from one')
  })
})

describe('a required flag', () => {
  it('counts as missing if it is empty', () => {
    expect(requireFlag('url', 'x', 'a URL')).toBe('x')
    for (const value of [undefined, ''])
      expect(() => requireFlag('url', value, 'a URL')).toThrow(new UsageError('--url is missing; expected a URL'))
  })
})
