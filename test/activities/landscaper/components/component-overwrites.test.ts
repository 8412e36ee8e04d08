// What ComponentVersionOverwrites put in the place of a reference. Source: spec/landscaper.md 1.8.

import { describe, expect, it } from 'vitest'

import {
  type Overwrite,
  overwrite,
  replacementText,
} from '../../../../activities/landscaper/components/component-overwrites.ts'

const HERE = { type: 'OCIRegistry', baseUrl: 'registry.example.com/a' }
const THERE = { type: 'OCIRegistry', baseUrl: 'registry.example.com/b' }
const written = { repositoryContext: HERE, componentName: 'example.com/shop', version: '1.0.0' }
const of = (source: Overwrite['source'], substitution: Overwrite['substitution']) => ({ source, substitution })
const meant = (...overwrites: Overwrite[]) => overwrite(written, overwrites)

describe('a reference', () => {
  it('stays the very same where nothing matches, or nothing is put in its place', () => {
    expect(meant()).toBe(written)
    expect(meant(of({ version: '2.0.0' }, { version: '3.0.0' }))).toBe(written)
    expect(meant(of({ repositoryContext: THERE }, { version: '3.0.0' }))).toBe(written)
    expect(meant(of({}, {}), of({ componentName: '' }, { version: '' }))).toBe(written)
  })

  it('is replaced in what is named, where all that the source names is as written', () => {
    const reordered = { baseUrl: HERE.baseUrl, type: HERE.type }
    const source = { repositoryContext: reordered, componentName: 'example.com/shop', version: '1.0.0' }
    expect(meant(of(source, { version: '1.0.1' }))).toEqual({ ...written, version: '1.0.1' })
    expect(meant(of({}, { repositoryContext: THERE }))).toEqual({ ...written, repositoryContext: THERE })
  })

  it('is replaced by several that name different parts, each held against what was written', () => {
    const overwrites = [
      of({ version: '1.0.0' }, { version: '2.0.0' }),
      of({ version: '2.0.0' }, { componentName: 'never' }),
      of({ version: '1.0.0' }, { componentName: 'example.com/other' }),
    ]
    expect(meant(...overwrites)).toEqual({ ...written, componentName: 'example.com/other', version: '2.0.0' })
  })

  it('is replaced in a part once: an entry that would do it again is left out as a whole', () => {
    const first = of({ repositoryContext: HERE }, { repositoryContext: THERE, componentName: 'mine' })
    const second = of({ componentName: 'example.com/shop' }, { componentName: 'another', version: '1.2.3' })
    expect(meant(first, second)).toEqual({ repositoryContext: THERE, componentName: 'mine', version: '1.0.0' })
    const third = of({}, { version: '9' })
    expect(meant(first, second, third)).toMatchObject({ componentName: 'mine', version: '9' })
  })
})

it('a replacement is told with its repository only where that is another', () => {
  expect(replacementText(written, { ...written, version: '2.0.0' })).toBe(
    'example.com/shop:1.0.0 by example.com/shop:2.0.0',
  )
  expect(replacementText(written, { ...written, repositoryContext: THERE })).toBe(
    'example.com/shop:1.0.0 by example.com/shop:1.0.0 of {"type":"OCIRegistry","baseUrl":"registry.example.com/b"}',
  )
})
