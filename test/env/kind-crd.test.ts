// The CRD of a kind that `defineKind` returns, on a real API server: the server accepts the CRD, sets defaults and rejects invalid objects.

import { afterAll, beforeAll, describe, expect, inject, it, vi } from 'vitest'
import { parse } from 'yaml'

import { createKubeClient } from '../../activities/kube/client.ts'
import { defineKind, flag, integer, list, mapOf, oneOf, record, required, text } from '../../workflows/kit/index.ts'
import { crdDocument } from '../../worker/gen/crd.ts'

const GROUP = 'kind.test.pawl.dev'
const gate = defineKind({
  group: GROUP,
  version: 'v1',
  kind: 'Gate',
  plural: 'gates',
  singular: 'gate',
  shortNames: [],
  statusSubresource: true,
  printerColumns: [],
  description: 'For tests.',
  projection: [],
  workerVerbs: [],
  scope: 'Cluster',
  versions: [
    { version: 'v1beta1', deprecated: 'use v1' },
    { version: 'v1alpha1', served: false, schema: {} },
  ],
  rules: [{ rule: "self.metadata.name != 'forbidden'", message: 'that name is taken' }],
  schema: {
    spec: required(
      record(
        'What is wanted.',
        {
          width: integer('In meters.', { default: 3, minimum: 1, maximum: 9 }),
          color: text('In small letters.', { pattern: '^[a-z]+$', maxLength: 8 }),
          mode: oneOf('How it opens.', ['Slide', 'Swing'], { default: 'Swing' }),
          owner: text('Stays.', { rules: [{ rule: 'self == oldSelf', message: 'the owner may not be changed' }] }),
          parts: list('Its parts.', text('A part.', { minLength: 1 }), { maxItems: 2 }),
          notes: mapOf('Notes.', text('A note.'), { maxProperties: 1 }),
          lock: record('Its lock.', { closed: flag('Whether it is closed.', { default: true }) }, { default: {} }),
        },
        { rules: [{ rule: "self.mode != 'Slide' || self.width < 5", message: 'a wide gate cannot slide' }] },
      ),
    ),
  },
})

const kube = createKubeClient({ kubeconfigPath: inject('servers').kubeconfigPath, userAgent: 'test' })
const DEFINITIONS = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions'

interface Gate {
  readonly apiVersion: string
  readonly metadata: { readonly name: string }
  readonly spec: object
}

beforeAll(async () => {
  await kube.request('POST', DEFINITIONS, { body: parse(crdDocument(gate)) as object })
  await vi.waitFor(async () => await kube.request('GET', `/apis/${GROUP}/v1/gates`), { timeout: 30_000, interval: 200 })
})
afterAll(async () => {
  await kube.request('DELETE', `${DEFINITIONS}/gates.${GROUP}`)
  await kube.close()
})

async function create(name: string, spec: object, version = 'v1'): Promise<Gate> {
  const body = { apiVersion: `${GROUP}/${version}`, kind: 'Gate', metadata: { name }, spec }
  return await kube.request<Gate>('POST', `/apis/${GROUP}/${version}/gates`, { body })
}

describe('the CRD of a kind with limits, defaults, rules and versions', () => {
  it('is accepted by the API server without a NonStructuralSchema condition', async () => {
    const conditions = async () => {
      const found = await kube.request<{ status: { conditions: { type: string; status: string }[] } }>(
        'GET',
        `${DEFINITIONS}/gates.${GROUP}`,
      )
      return Object.fromEntries(found.status.conditions.map(({ type, status }) => [type, status]))
    }
    // NonStructuralSchema is there only where the schema is wrong.
    await expect.poll(conditions, { timeout: 30_000 }).toEqual({ NamesAccepted: 'True', Established: 'True' })
  })

  it('sets defaults', async () => {
    const { spec } = await create('plain', {})
    expect(spec).toEqual({ width: 3, mode: 'Swing', lock: { closed: true } })
  })

  it.each([
    ['bounds', { width: 10 }],
    ['patterns', { color: 'Red' }],
    ['lengths', { color: 'turquoise' }],
    ['enums', { mode: 'Fold' }],
    ['the maximum number of items', { parts: ['a', 'b', 'c'] }],
    ['the minimum length of items', { parts: [''] }],
    ['the maximum number of values', { notes: { a: '1', b: '2' } }],
    ['rules', { mode: 'Slide', width: 6 }],
  ])('rejects objects that violate %s', async (_, spec) => {
    await expect(create('refused', spec)).rejects.toMatchObject({ status: 422 })
  })

  it('enforces rules about the whole object and about changes', async () => {
    await expect(create('forbidden', {})).rejects.toMatchObject({ status: 422 })
    await create('owned', { owner: 'me' })
    const change = async (spec: object) =>
      await kube.request('PATCH', `/apis/${GROUP}/v1/gates/owned`, {
        contentType: 'application/merge-patch+json',
        body: { spec },
      })
    await change({ width: 4 })
    await expect(change({ owner: 'you' })).rejects.toMatchObject({ status: 422 })
  })

  it('serves only the versions that are marked as served', async () => {
    await create('older', { width: 2 }, 'v1beta1')
    const read = async (version: string) => await kube.request<Gate>('GET', `/apis/${GROUP}/${version}/gates/older`)
    expect(await read('v1')).toMatchObject({ apiVersion: `${GROUP}/v1`, spec: { width: 2 } })
    await expect(read('v1alpha1')).rejects.toMatchObject({ status: 404 })
  })
})
