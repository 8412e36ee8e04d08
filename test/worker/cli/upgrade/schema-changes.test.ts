// Fields and API versions that a new CustomResourceDefinition no longer has.

import { describe, expect, it } from 'vitest'

import { fieldsThatDisappear } from '../../../../worker/cli/upgrade/schema-changes.ts'

const text = { type: 'string' }
const object = (properties: object, more: object = {}) => ({ type: 'object', properties, ...more })
const crd = (versions: Readonly<Record<string, object>>) => ({
  spec: {
    versions: Object.entries(versions).map(([name, openAPIV3Schema]) => ({ name, schema: { openAPIV3Schema } })),
  },
})
const of = (live: object, next: object) => fieldsThatDisappear(crd({ v1: live }), crd({ v1: next }))

describe('fields that disappear', () => {
  it('are named with version and path, also in lists and maps', () => {
    const live = object({
      spec: object({
        kept: text,
        gone: text,
        list: { type: 'array', items: object({ inner: text }) },
        map: { type: 'object', additionalProperties: object({ inner: text }) },
      }),
    })
    const next = object({
      spec: object({
        kept: text,
        added: text,
        list: { type: 'array', items: object({}) },
        map: { type: 'object', additionalProperties: object({}) },
      }),
    })
    expect(of(live, next)).toEqual(['v1 spec.gone', 'v1 spec.list[].inner', 'v1 spec.map.*.inner'])
  })

  it('are named once for a whole branch', () => {
    expect(of(object({ status: object({ a: text, b: text }) }), object({}))).toEqual(['v1 status'])
  })

  it('are none where the new schema accepts unknown fields or any key', () => {
    const live = object({ spec: object({ a: text }) })
    expect(of(live, object({ spec: { 'x-kubernetes-preserve-unknown-fields': true } }))).toEqual([])
    expect(of(live, object({ spec: { additionalProperties: text } }))).toEqual([])
  })

  it('include a whole API version', () => {
    expect(fieldsThatDisappear(crd({ v1alpha1: object({}), v1: object({}) }), crd({ v1: object({}) }))).toEqual([
      'v1alpha1',
    ])
  })
})
