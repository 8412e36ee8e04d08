import { describe, expect, it } from 'vitest'

import {
  compactVersion,
  compareVersions,
  downgradeProblem,
  isProtocolCompatible,
  parseVersion,
  supportsLocalityExclusion,
} from '../../../../workflows/foundationdb/model/version.ts'

describe('versions of FoundationDB', () => {
  it('are ordered by number, release candidates before their release', () => {
    const ordered = ['6.3.25', '7.1.9', '7.1.26', '7.3.0-rc1', '7.3.0-rc2', '7.3.0', '10.0.0']
    expect(ordered.toReversed().sort(compareVersions)).toEqual(ordered)
    expect(compareVersions('7.1.26', '7.1.26')).toBe(0)
  })

  it.each(['7.1', '7.1.26.1', 'v7.1.26', '7.1.26-x', ' 7.1.26', '', '7.1.26\n'])('%j is no version', (text) => {
    expect(parseVersion(text)).toBeUndefined()
  })

  it('have one protocol if major and minor are equal', () => {
    expect(isProtocolCompatible('7.1.26', '7.1.67')).toBe(true)
    expect(isProtocolCompatible('7.1.26', '7.3.0')).toBe(false)
    expect(compactVersion('7.1.26')).toBe('7.1')
  })

  it.each([
    ['7.1.26', '7.1.26', false, true],
    ['7.1.26', '7.3.0', false, true],
    ['7.1.26', '7.1.25', false, false],
    ['7.1.26', '7.1.25', true, true],
    ['7.3.1', '7.1.67', true, false],
  ])('may change from %s to %s (patch downgrades allowed: %s): %s', (running, wanted, allowed, expected) => {
    expect(downgradeProblem(running, wanted, allowed) === undefined).toBe(expected)
  })

  it('exclude by locality from certain patches on', () => {
    const versions = ['7.1.41', '7.1.42', '7.2.9', '7.3.25', '7.3.26', '8.0.0']
    expect(versions.filter(supportsLocalityExclusion)).toEqual(['7.1.42', '7.3.26', '8.0.0'])
  })
})
