import { describe, expect, it } from 'vitest'

import { answerMutation } from '../../../worker/webhook/review.ts'
import type { MutateFurther } from '../../../worker/webhook/further-rules.ts'
import type { Admission, Mutation } from '../../../workflows/kit/index.ts'
import { targetKind } from '../../../workflows/landscaper/target/kind.ts'

interface Answer {
  readonly response: { readonly allowed: boolean; readonly patchType?: string; readonly patch?: string }
}

const asks = (name: string, filter: Mutation['filter'], mutate: NonNullable<Mutation['mutate']>): Mutation => ({
  name,
  filter,
  whenUnavailable: 'pass',
  mutate,
})

const RULES: Admission = {
  kind: targetKind,
  operations: ['CREATE', 'UPDATE'],
  validate: () => [{ field: 'spec', found: 'anything', expected: 'nothing' }],
  mutations: [
    asks('first', { annotationsSet: ['a', { annotation: 'op', value: 'go' }] }, ({ user }) => [
      { path: ['metadata', 'annotations', 'who'], value: user.name },
    ]),
    asks('then', { annotationsSet: ['who'], annotationsRemoved: ['a'] }, ({ object }) => [
      { path: ['metadata', 'labels', 'saw'], value: JSON.stringify(object).length > 0 ? 'it' : '' },
    ]),
  ],
}

/** Returns its arguments. */
const further: MutateFurther = (_, mutation, { object }) => [
  { path: ['metadata', 'labels', 'further'], value: `${mutation} ${Object.keys(object).join()}` },
]

function review(request: object): Answer | undefined {
  const body = {
    apiVersion: 'admission.k8s.io/v1',
    kind: 'AdmissionReview',
    request: {
      uid: 'u-1',
      kind: { group: targetKind.group, kind: targetKind.kind },
      operation: 'UPDATE',
      name: 'it',
      userInfo: { username: 'alice', groups: [] },
      ...request,
    },
  }
  return answerMutation(body, [RULES], further) as Answer | undefined
}

function patched(annotations: object, before: object = {}, more: object = {}): readonly string[] {
  const answer = review({
    object: { metadata: { annotations, ...more } },
    oldObject: { metadata: { annotations: before } },
  })
  const { allowed, patchType, patch } = answer?.response ?? {}
  expect([allowed, patchType]).toEqual([true, patch === undefined ? undefined : 'JSONPatch'])
  const operations = JSON.parse(Buffer.from(patch ?? 'W10=', 'base64').toString()) as readonly { path: string }[]
  return operations.map(({ path }) => path)
}

describe('a mutation', () => {
  it('is visible to the following mutations', () => {
    expect(patched({ a: '1' })).toEqual(['/metadata/annotations/who', '/metadata/labels'])
  })

  it.each<[string, object, object, number]>([
    ['is set', { op: 'go' }, {}, 2],
    ['is set in place of another', { op: 'go' }, { op: 'stop' }, 2],
    ['changes', { a: '2' }, { a: '1' }, 2],
    ['goes', {}, { a: '1' }, 1],
    ['stays', { a: '1', op: 'go' }, { a: '1', op: 'go' }, 0],
    ['has another value than is asked about', { op: 'stop' }, {}, 0],
    ['is another', { b: '1' }, {}, 0],
  ])('runs when an annotation %s', (_, now, before, count) => {
    expect(patched(now, before)).toHaveLength(count)
  })

  it.each([
    ['a subresource', { subResource: 'status' }],
    ['a kind without rules', { kind: { group: 'example.org', kind: 'Target' } }],
    ['a deletion', { operation: 'DELETE', object: null }],
  ])('changes nothing for %s', (_, request) => {
    const object = { metadata: { annotations: { a: '1' } } }
    expect(review({ object, ...request })?.response).toEqual({ uid: 'u-1', allowed: true })
  })

  it('may be implemented by further rules', () => {
    const rules: Admission = {
      ...RULES,
      mutations: [{ name: 'size', filter: { spec: true }, whenUnavailable: 'pass' }],
    }
    const request = {
      uid: 'u-1',
      kind: { group: targetKind.group, kind: targetKind.kind },
      operation: 'CREATE',
      object: { metadata: {}, spec: {} },
    }
    const { response } = answerMutation({ kind: 'AdmissionReview', request }, [rules], further) as Answer
    expect(JSON.parse(Buffer.from(response.patch ?? '', 'base64').toString())).toEqual([
      { op: 'add', path: '/metadata/labels', value: { further: 'size metadata,spec' } },
    ])
  })

  it('is not answered for a body that is not a review', () => {
    expect(answerMutation({ kind: 'AdmissionReview' }, [RULES], further)).toBeUndefined()
  })
})
