// Source: seeds/chaos-mesh-controller-rules.txt "One controller per field". In a live cluster: test/e2e/fields.test.ts.

import { describe, expect, it } from 'vitest'
import type { OwnedFields } from '../../workflows/kit/index.ts'
import { declarations, exceptions, fieldText, overlap } from '../support/cluster/owned-fields.ts'

/** `Kind field: one, other` for each field that both declare. */
function sharedBy(one: OwnedFields, other: OwnedFields): string[] {
  return Object.entries(one.fields).flatMap(([kind, paths]) =>
    paths.flatMap((left) =>
      (other.fields[kind] ?? [])
        .filter((right) => overlap(left, right))
        .map(
          (right) =>
            `${kind} ${fieldText(left.length < right.length ? right : left)}: ${one.controller}, ${other.controller}`,
        ),
    ),
  )
}

function allShared(owners: readonly OwnedFields[]): string[] {
  return owners.flatMap((one, index) => owners.slice(index + 1).flatMap((other) => sharedBy(one, other)))
}

const ORDER = ['installation', 'execution', 'deploy']
const owners = [...(await declarations()).entries()]

describe('the controllers', () => {
  it('declare each what they write', () => {
    expect(owners.filter(([, fields]) => fields === undefined).map(([folder]) => folder)).toEqual([])
    expect(owners.length).toBeGreaterThanOrEqual(3)
  })

  it('share no field but those that the table of exceptions names, and these they do share', async () => {
    const declared = owners.flatMap(([, fields]) => fields ?? [])
    const sorted = declared.toSorted((one, other) => ORDER.indexOf(one.controller) - ORDER.indexOf(other.controller))
    expect(allShared(sorted).toSorted()).toEqual((await exceptions()).toSorted())
  })

  it('make no objects of kinds whose fields they share out, but for own finalizers and annotations', () => {
    const declared = owners.flatMap(([, fields]) => fields ?? [])
    const made = new Set(declared.flatMap(({ makes }) => makes))
    const isOwnMark = ([first, list, key]: readonly string[]) =>
      first === 'metadata' && (list === 'finalizers' || list === 'annotations') && key !== undefined
    const shared = declared.flatMap(({ fields }) =>
      Object.entries(fields).flatMap(([kind, paths]) => (paths.every(isOwnMark) ? [] : [kind])),
    )
    expect(shared.filter((kind) => made.has(kind))).toEqual([])
  })
})

describe('two declarations', () => {
  const owner = (controller: string, ...paths: string[]): OwnedFields => ({
    controller,
    makes: [],
    fields: { Widget: paths.map((path) => path.split('.')) },
  })

  it('share a field when one of them has it, or anything above or below it', () => {
    expect(sharedBy(owner('a', 'status.phase', 'spec.x'), owner('b', 'status', 'spec.y'))).toEqual([
      'Widget status.phase: a, b',
    ])
    expect(sharedBy(owner('a', 'status'), owner('b', 'status.size.width'))).toEqual(['Widget status.size.width: a, b'])
  })

  it('share nothing when keys only begin alike', () => {
    expect(sharedBy(owner('a', 'status.jobID'), owner('b', 'status.jobIDFinished'))).toEqual([])
  })
})
