import { describe, expect, it } from 'vitest'

import { joinKinds } from '../../../worker/server/registry.ts'
import { defineLevel, nop, type StateQuery } from '../../../workflows/kit/index.ts'

const level = (name: string, queries: Readonly<Record<string, StateQuery>>) =>
  defineLevel({
    name,
    queries,
    plan: nop,
    target: { apiVersion: 'example.com/v1', kind: `S${name.slice(1)}`, plural: `${name}s`.toLowerCase() },
  })
const traits = (...all: readonly Readonly<Record<string, StateQuery>>[]) =>
  joinKinds(
    [],
    all.map((queries, at) => level(`shop${at}`, queries)),
  ).find(({ kind }) => kind === 'Event')?.indexKeys
const about = (field: string): StateQuery => ({ kind: 'v1/Event', many: true, fieldsFrom: { [field]: 'spec.names' } })
const all: StateQuery = { kind: 'v1/Event', many: true }

describe('a kind that several controllers look at', () => {
  it('is remembered with what any of them selects it by', () => {
    expect(traits({ all })).toBeUndefined()
    expect(traits({ all }, { one: about('reason') })).toEqual({ fields: ['reason'] })
    expect(traits({ one: about('reason') }, { two: about('type') }, { all })).toEqual({ fields: ['reason', 'type'] })
    expect(traits({ one: { ...all, labelsFrom: 'spec.selector' } }, { two: about('type') })).toEqual({
      fields: ['type'],
    })
  })
})
