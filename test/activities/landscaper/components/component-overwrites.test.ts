// How ComponentVersionOverwrites replace a component reference. Source: spec/landscaper.md 1.8.

import { describe, expect, it } from 'vitest'

import { type Overwrite, overwrite } from '../../../../activities/landscaper/components/component-overwrites.ts'

const HERE = { type: 'OCIRegistry', baseUrl: 'registry.example.com/a' }
const THERE = { type: 'OCIRegistry', baseUrl: 'registry.example.com/b' }
const written = { repositoryContext: HERE, componentName: 'example.com/shop', version: '1.0.0' }
const of = (source: Overwrite['source'], substitution: Overwrite['substitution']) => ({ source, substitution })
const meant = (...overwrites: Overwrite[]) => overwrite(written, overwrites)

describe('a component reference', () => {
  it('stays unchanged when no overwrite matches or the substitution is empty', () => {
    expect(meant()).toBe(written)
    expect(meant(of({ version: '2.0.0' }, { version: '3.0.0' }))).toBe(written)
    expect(meant(of({ repositoryContext: THERE }, { version: '3.0.0' }))).toBe(written)
    expect(meant(of({}, {}), of({ componentName: '' }, { version: '' }))).toBe(written)
  })

  it('gets fields from several overwrites when each overwrite matches the original reference', () => {
    const overwrites = [
      of({ version: '1.0.0' }, { version: '2.0.0' }),
      of({ version: '2.0.0' }, { componentName: 'never' }),
      of({ version: '1.0.0' }, { componentName: 'example.com/other' }),
    ]
    expect(meant(...overwrites)).toEqual({ ...written, componentName: 'example.com/other', version: '2.0.0' })
  })

  it('gets each field from the first overwrite of that field: a later overwrite of the field is ignored as a whole', () => {
    const reordered = { baseUrl: HERE.baseUrl, type: HERE.type }
    const first = of({ repositoryContext: reordered }, { repositoryContext: THERE, componentName: 'mine' })
    const second = of({ componentName: 'example.com/shop' }, { componentName: 'another', version: '1.2.3' })
    expect(meant(first, second)).toEqual({ repositoryContext: THERE, componentName: 'mine', version: '1.0.0' })
    const third = of({}, { version: '9' })
    expect(meant(first, second, third)).toMatchObject({ componentName: 'mine', version: '9' })
  })
})
