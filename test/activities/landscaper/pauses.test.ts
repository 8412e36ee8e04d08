// The user who paused an object, and which names count as verified. With a webhook and a worker: test/e2e/paused-by.test.ts.

import { describe, expect, it } from 'vitest'

import type { KubeObject } from '../../../activities/kube/client.ts'
import { pausableView } from '../../../activities/landscaper/pauses.ts'
import { createTrust, type Trust } from '../../../activities/landscaper/trust.ts'
import { handedDownValue } from '../../../workflows/landscaper/pause.ts'

const PAUSED = 'landscaper.gardener.cloud/pawl-paused'
const RECORD = 'landscaper.gardener.cloud/pawl-steered-by'
const WORKER = 'system:serviceaccount:pawl:pawl-worker'
const VOUCHED: Trust = { isVouched: true, self: WORKER }

function paused(value: string, by: string | undefined): KubeObject {
  const record = by !== undefined && { [RECORD]: JSON.stringify({ [PAUSED]: { value, by } }) }
  const managedFields = [
    {
      manager: 'kubectl',
      time: '2026-01-01T00:00:00Z',
      fieldsV1: { 'f:metadata': { 'f:annotations': { [`f:${PAUSED}`]: {} } } },
    },
  ]
  return {
    metadata: { name: 'it', annotations: { [PAUSED]: value, ...record }, managedFields },
    status: { jobID: 'j' },
  }
}

function by(object: KubeObject, trust?: Trust): string | undefined {
  return pausableView(object, trust).paused?.by
}

describe('a name that the webhook has recorded', () => {
  it('is reported unchanged by a worker that trusts the record', () => {
    expect(pausableView(paused('a freeze', 'alice@example.com'), VOUCHED).paused).toEqual({
      by: 'alice@example.com',
      since: '2026-01-01T00:00:00Z',
      reason: 'a freeze',
    })
  })

  it('is reported as not verified by a worker that does not trust records', async () => {
    const trust = createTrust({ kube: answering(WORKER), log }, false)
    expect(by(paused('a freeze', 'alice@example.com'), await trust())).toBe('field manager kubectl (not verified)')
    expect(by(paused('a freeze', 'alice@example.com'))).toBe('field manager kubectl (not verified)')
  })

  it('is missing for a pause that was set before the webhook recorded names', () => {
    expect(by(paused('a freeze', undefined), VOUCHED)).toBe('field manager kubectl (not verified)')
  })
})

describe('the name that a parent passes down', () => {
  const value = handedDownValue('j', 'alice@example.com')

  it('is verified only when the account of this worker has written it', async () => {
    const trust = await createTrust({ kube: answering(WORKER), log }, true)()
    expect(by(paused(value, WORKER), trust)).toBe('alice@example.com')
    expect(by(paused(value, 'mallory'), trust)).toBe('alice@example.com (not verified)')
    expect(by(paused(value, WORKER))).toBe('alice@example.com (not verified)')
    expect(by(paused(value, undefined), trust)).toBe('alice@example.com (not verified)')
  })

  it('is not verified until the worker can read its account name', async () => {
    let isAway = true
    const kube = {
      request: <T>() => (isAway ? Promise.reject(new Error('away')) : answering(WORKER).request<T>()),
    }
    const trust = createTrust({ kube, log }, true)
    expect(by(paused(value, WORKER), await trust())).toBe('alice@example.com (not verified)')
    expect(by(paused('a freeze', 'bob'), await trust())).toBe('bob')
    isAway = false
    expect(by(paused(value, WORKER), await trust())).toBe('alice@example.com')
  })

  it('stays not verified when the parent reports it as not verified', () => {
    expect(by(paused(handedDownValue('j', 'alice (not verified)'), WORKER), VOUCHED)).toBe('alice (not verified)')
    expect(by(paused(handedDownValue('j'), WORKER), VOUCHED)).toBe('its parent')
  })
})

const log = { warn: () => undefined }

function answering(username: string) {
  return { request: <T>() => Promise.resolve({ status: { userInfo: { username } } } as T) }
}
