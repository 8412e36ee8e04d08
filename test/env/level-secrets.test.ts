// Values of Secrets in the writes of level mode. Against an API server that the test controls, and a real journal.

import { describe, expect, inject, it } from 'vitest'

import { base, map, maps, MAPS, observed, useLevelStage, wanted } from './level-stage.ts'

const stage = useLevelStage(inject('servers').databaseUrl)
const { apply, stored, subscriptions, writes } = stage

const gaps = [{ at: ['data', 'url'], parts: ['to:', { secret: 'db', key: 'password' }, '!'] }]
const encoded = (text: string) => Buffer.from(text).toString('base64')
const putSecret = (data: object) => {
  const metadata = { name: 'db', namespace: 'n', uid: 'uid-db' }
  stage.api.put('/api/v1/namespaces/n/secrets/db', { apiVersion: 'v1', kind: 'Secret', data, metadata })
}

describe('a value of a Secret', () => {
  it('is filled in when an action writes an object, and is written again when the value changes', async () => {
    putSecret({ password: encoded('canary') })
    await apply(wanted({ url: '' }), { gaps })
    await apply(wanted({ url: '' }), { gaps })
    expect(stored()?.['data']).toEqual({ url: 'to:canary!' })
    putSecret({ password: encoded('new') })
    await apply(wanted({ url: '' }), { gaps })
    expect(stored()?.['data']).toEqual({ url: 'to:new!' })
    expect(writes()).toEqual(['POST n/configmaps', 'PATCH configmaps/a'])
    const patch = { ...base, resource: maps, object: observed(stored()), fenced: false }
    const other = [{ ...gaps[0]!, at: ['data', 'other'] }]
    await stage.act.patchLevel({ ...patch, patch: { data: { other: '' } }, gaps: other })
    expect(stored()?.['data']).toEqual({ url: 'to:new!', other: 'to:new!' })
  })

  it('can be written to another Secret, which is not written again if it is unchanged', async () => {
    putSecret({ password: encoded('canary') })
    const object = { ...wanted({}), kind: 'Secret', data: undefined, stringData: { key: '' } }
    const resource = { ...maps, kind: 'Secret', plural: 'secrets' }
    const inKey = [{ ...gaps[0]!, at: ['stringData', 'key'] }]
    await apply(object, { resource, gaps: inKey })
    await apply(object, { resource, gaps: inKey })
    const made = stored('/api/v1/namespaces/n/secrets/a')
    expect(made?.['data']).toEqual({ key: encoded('to:canary!') })
    expect(made).not.toHaveProperty('stringData')
    expect(writes()).toEqual(['POST n/secrets'])
  })

  it('causes a retryable fault if it is missing, or a final fault and a subscription if the worker follows Secrets', async () => {
    const missing = (nonRetryable: boolean, problem: string) => ({
      type: 'SecretNotFound',
      nonRetryable,
      message: `Secret n/db ${problem}; Shop n/shop needs its value`,
    })
    await expect(apply(wanted({ url: '' }), { gaps })).rejects.toMatchObject(missing(false, 'does not exist'))
    putSecret({})
    const kind = { apiVersion: 'v1', kind: 'Secret', plural: 'secrets', projection: [], hashed: [] }
    stage.configure({ followed: [kind] })
    await expect(apply(wanted({ url: '' }), { gaps })).rejects.toMatchObject(missing(true, 'has no key password'))
    expect(await subscriptions()).toEqual(['shop Secret n db'])
    expect(writes()).toEqual([])
  })

  it('is not read from another namespace, and appears in no message and no journal row', async () => {
    const elsewhere = [{ at: ['data', 'url'], parts: [{ secret: 'db', key: 'password', namespace: 'other' }] }]
    await expect(apply(wanted({ url: '' }), { gaps: elsewhere })).rejects.toMatchObject({ type: 'OtherNamespace' })
    const password = encoded('canary')
    putSecret({ password })
    const status = { kind: 'Status', status: 'Failure', reason: 'BadRequest' }
    const body = { ...status, message: `"canary" or ${password} is wrong` }
    stage.api.intercept = ({ method }) => (method === 'GET' ? undefined : { status: 400, body })
    const redactedMessage = { message: expect.stringContaining('"***" or *** is wrong') as string }
    await expect(apply(wanted({ url: '' }), { gaps })).rejects.toMatchObject(redactedMessage)
    const object = observed(stage.api.put(`${MAPS}/b`, map({}, { name: 'b', uid: 'uid-b' })))
    const patch = { ...base, resource: maps, object, patch: { data: { url: '' } }, gaps, fenced: false }
    await expect(stage.act.patchLevel(patch)).rejects.toMatchObject(redactedMessage)
    await stage.deps.journal.flush(base.by.workflowID)
    const rows = await stage.deps.db.selectFrom('action').select('error').execute()
    expect(rows).toHaveLength(2)
    expect(JSON.stringify(rows)).not.toMatch(/canary|Y2FuYXJ5/)
  })
})
