import { describe, expect, it } from 'vitest'

import { KubeError } from '../../../activities/kube/errors.ts'
import { reportBug } from '../../../activities/run/report-bug.ts'

const target = { apiVersion: 'example.com/v1', kind: 'Shop', plural: 'shops' }
const subject = { group: 'example.com', kind: 'Shop', uid: 'u', namespace: 'n', name: 'one' }
const REASONS: Readonly<Record<number, string>> = { 403: 'Forbidden', 404: 'NotFound', 409: 'Conflict', 422: 'Invalid' }
const MESSAGE = 'controller "shop": no'

/** An API server with one object. `refuse` returns the error of a PATCH, by the number of the PATCH. */
function server(status: object | undefined, refuse: (patch: number) => number | undefined = () => undefined) {
  let object: Record<string, unknown> | undefined = status && {
    metadata: { name: 'one', uid: 'u', generation: 2, resourceVersion: '1' },
    status,
  }
  const patched: string[] = []
  const request = (method: string, path: string, { body }: { body?: unknown } = {}) => {
    if (object === undefined) return Promise.reject(new KubeError('gone', { status: 404, reason: 'NotFound' }))
    if (method === 'GET') return Promise.resolve(object)
    const refusal = refuse(patched.push(path))
    if (refusal !== undefined)
      return Promise.reject(new KubeError('no', { status: refusal, reason: REASONS[refusal] ?? '' }))
    if (!('prunes' in (status ?? {}))) object = { ...object, ...(body as { status: object }) }
    object = { ...object, metadata: { name: 'one', uid: 'u', generation: 2, resourceVersion: `${patched.length + 1}` } }
    return Promise.resolve(object)
  }
  const deps = { kube: { request } as never, now: () => new Date('2026-03-01T10:00:00Z') }
  const report = async (of: object = target) =>
    await reportBug(deps, { name: 'shop', target: of as never }, subject, MESSAGE)
  return { report, patched, current: () => object }
}

describe('the report of a bug on the object', () => {
  it('sets Ready to False and keeps the other conditions; the same report is written once', async () => {
    const { report, patched, current } = server({ phase: 'x', conditions: [{ type: 'Other', status: 'True' }] })
    expect([await report(), await report()]).toEqual([{ version: '2' }, 'present'])
    expect(patched).toEqual(['/apis/example.com/v1/namespaces/n/shops/one/status'])
    expect(current()?.['status']).toMatchObject({
      conditions: [
        { type: 'Other', status: 'True' },
        { type: 'Ready', status: 'False', reason: 'Bug', message: MESSAGE, observedGeneration: 2 },
      ],
    })
  })

  it('is repeated after a conflict', async () => {
    const { report, patched } = server({}, (patch) => (patch === 1 ? 409 : undefined))
    expect(await report()).toEqual({ version: '3' })
    expect(patched).toHaveLength(2)
  })

  it.each([
    ['drops the condition', { prunes: true }, undefined],
    ['refuses the conditions', {}, 422],
    ['has no status subresource', {}, 404],
  ])('is impossible when the API server %s', async (_, status, refusal) => {
    expect(await server(status, () => refusal).report()).toBe('impossible')
  })

  it('is impossible for a target that passes never write', async () => {
    const { report, patched } = server({})
    expect(await report({ ...target, isReadOnly: true })).toBe('impossible')
    expect(patched).toEqual([])
  })

  it('is not written without the object, and leaves other failures to the caller', async () => {
    expect(await server(undefined).report()).toBe('present')
    await expect(server({}, () => 403).report()).rejects.toThrow('no')
  })

  it('is a part of the object where status is not a subresource', async () => {
    const { report, patched } = server({})
    await report({ ...target, statusSubresource: false })
    expect(patched).toEqual(['/apis/example.com/v1/namespaces/n/shops/one'])
  })
})
