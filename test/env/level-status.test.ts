// The status, the finalizer and the Events of a target in level mode. Against an API server that the test controls, and
// a real journal.

import { describe, expect, inject, it } from 'vitest'

import type { StatusInput, TargetEvent } from '../../workflows/kit/index.ts'
import { refusal } from '../activities/kube/tiny-api.ts'
import { base, by, shop, SHOP, subject, target, useLevelStage, wanted } from './level-stage.ts'

const stage = useLevelStage(inject('servers').databaseUrl, { modes: { shop: 'level' } })
const { apply, events, race, stored, writes } = stage

describe('the status of a target', () => {
  const write = async (status: object, conditions: StatusInput['conditions'] = []) =>
    await stage.act.writeLevelStatus({ ...base, version: '1', status: status as StatusInput['status'], conditions })
  const condition = (type: string, status: string) => ({ type, status })

  it('gets each field of this controller as a whole and conditions by type, and keeps concurrent changes of other writers', async () => {
    const put = (theirs: string) => {
      const conditions = [condition('Theirs', theirs), condition('Ours', 'False')]
      stage.api.put(SHOP, shop({ status: { ours: { a: 1, b: 2 }, old: 'x', theirs, conditions } }))
    }
    put('old')
    race(() => put('new'))
    const change = [{ ours: { a: 3 }, old: null }, [condition('Ours', 'True')]] as const
    const version = await write(...change)
    const conditions = [condition('Theirs', 'new'), condition('Ours', 'True')]
    expect(stored(SHOP)?.['status']).toEqual({ ours: { a: 3 }, theirs: 'new', conditions })
    expect(version).toBe(stored(SHOP)?.metadata.resourceVersion)
    expect(await write(...change)).toBe(version)
    expect(writes()).toHaveLength(2)
    await write({}, [{ type: 'Ours', status: null }])
    expect(stored(SHOP)?.['status']).toMatchObject({ conditions: [condition('Theirs', 'new')] })
  })

  it('is not written if the target is deleted or replaced', async () => {
    stage.api.put(SHOP, shop({}, { uid: 'uid-new' }))
    expect(await write({ ours: 'y' })).toBeUndefined()
    stage.api.objects.clear()
    expect(await write({ ours: 'y' })).toBeUndefined()
    expect(writes()).toEqual([])
  })

  it('is sent with strict field validation, and an unknown field is a fault', async () => {
    stage.api.put(SHOP, shop())
    stage.api.intercept = ({ query }) =>
      query['fieldValidation'] === 'Strict' ? refusal(400, 'BadRequest') : undefined
    const message = expect.stringMatching(/^status of Shop n\/shop: .*400/) as string
    await expect(write({ ours: 'x' })).rejects.toMatchObject({ type: 'BadRequest', nonRetryable: true, message })
  })

  it('causes the fault NoStatusEndpoint if the kind has no status endpoint', async () => {
    stage.api.put(SHOP, shop())
    stage.api.intercept = ({ path }) => (path.endsWith('/status') ? refusal(404, 'NotFound') : undefined)
    await expect(write({ ours: 'x' })).rejects.toMatchObject({ type: 'NoStatusEndpoint', nonRetryable: true })
  })
})

describe('the finalizer of a controller', () => {
  it('is added and removed once each, and finalizers of other controllers stay', async () => {
    stage.api.put(SHOP, shop({}, { finalizers: ['theirs'] }))
    const finalize = async (guarded: boolean) =>
      await stage.act.finalizeLevel({ ...base, version: '1', finalizer: 'example.com/hold', guarded })
    race(() => stage.api.put(SHOP, shop({}, { finalizers: ['theirs', 'new'] })))
    expect((await finalize(true))?.metadata.finalizers).toEqual(['theirs', 'new', 'example.com/hold'])
    await finalize(true)
    expect((await finalize(false))?.metadata.finalizers).toEqual(['theirs', 'new'])
    await finalize(false)
    expect(writes()).toEqual(['PATCH shops/shop', 'PATCH shops/shop', 'PATCH shops/shop'])
  })
})

describe('an Event that an action records', () => {
  const told = { type: 'Normal', reason: 'Opened', message: 'the shop is open' } as const
  const tell = async (event: Partial<TargetEvent> = {}, runID = 'run') =>
    await stage.act.eventLevel({ ...base, by: { ...by, runID }, event: { ...told, ...event } })

  it('is recorded once on the target, even if several passes and runs repeat it, unless its type or occasion differs', async () => {
    const annotations = { 'example.com/shop': '{"open":true}' }
    await tell({ annotations })
    await tell({ annotations: { 'example.com/shop': '{"open":false}' } })
    await tell()
    await tell({}, 'later')
    const involvedObject = { ...subject, apiVersion: 'example.com/v1' }
    const source = { component: 'pawl-shop' }
    expect(events()).toMatchObject([{ ...told, source, involvedObject, metadata: { annotations } }])
    await tell({ occasion: 'tomorrow' })
    await tell({ type: 'Warning' })
    expect(events()).toHaveLength(3)
  })

  it('is recorded before the write that carries it, in the order of the action', async () => {
    await apply(wanted({}), { told: ['Opened', 'Renamed'].map((reason) => ({ event: { ...told, reason } })) })
    expect(events().map((event) => event['reason'])).toEqual(['Opened', 'Renamed'])
    expect(writes()).toEqual(['POST n/events', 'POST n/events', 'POST n/configmaps'])
  })

  it('that the API server rejects does not fail the action', async () => {
    stage.api.intercept = ({ method }) => (method === 'POST' ? refusal(403, 'Forbidden') : undefined)
    await tell()
    expect(events()).toEqual([])
  })
})

describe('a pass with a fault', () => {
  const fault = { reason: 'Forbidden', message: 'ConfigMap n/a: POST is forbidden' }
  const settle = async (pass: number, change: object = {}, runID = 'run') =>
    await stage.act.settleLevel({
      againMs: 60_000,
      attempt: 1,
      fault,
      subject,
      target,
      by: { ...by, pass, runID },
      ...change,
    })

  it('records one Warning Event per run and message on its object', async () => {
    await settle(1)
    await settle(2, { attempt: 2 })
    const involvedObject = { ...subject, apiVersion: 'example.com/v1' }
    expect(events()).toMatchObject([{ metadata: { namespace: 'n' }, involvedObject, type: 'Warning', ...fault }])
    await settle(1, {}, 'later')
    await settle(2, { fault: { ...fault, message: 'another' } }, 'later')
    expect(events()).toHaveLength(3)
  })

  it('records its Event in the default namespace if its object is cluster-scoped', async () => {
    await settle(1, { subject: { ...subject, namespace: '' } })
    const [event] = events()
    expect(event?.metadata.namespace).toBe('default')
    const { kind, uid, name } = subject
    expect(event?.['involvedObject']).toEqual({ apiVersion: 'example.com/v1', kind, uid, name })
  })

  it('records no Event if a user has nothing to fix', async () => {
    await settle(1, { fault: { reason: 'Changed', message: 'it was edited' } })
    await settle(2, { fault: undefined, attempt: 0 })
    expect(events()).toEqual([])
  })

  it('is settled even if the API server rejects the Event', async () => {
    stage.api.intercept = ({ method }) => (method === 'POST' ? refusal(403, 'Forbidden') : undefined)
    await settle(1)
    expect(await stage.deps.db.selectFrom('wake').select('cause').execute()).toEqual([{ cause: 'retry 1' }])
  })
})
