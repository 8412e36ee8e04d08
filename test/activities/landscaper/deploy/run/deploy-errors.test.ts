import { describe, expect, it } from 'vitest'

import { toDeployError, toRemovalError } from '../../../../../activities/landscaper/deploy/run/deploy-errors.ts'
import { DeployError } from '../../../../../activities/landscaper/deploy/run/deployer.ts'
import { KubeError } from '../../../../../activities/kube/errors.ts'

const REQUEST = 'PUT /apis/apps/v1/namespaces/n/deployments/web'

function answered(status: number, body: object | string) {
  const text = typeof body === 'string' ? body : JSON.stringify(body)
  const { operation, reason, message, codes, isFinal } = toDeployError(
    'Apply',
    KubeError.fromResponse(REQUEST, { statusCode: status, headers: {} }, text),
  )
  expect(operation).toBe('Apply')
  return { reason, message, codes, isFinal }
}

function unanswered(cause: unknown) {
  const { reason, message, codes } = toDeployError('Apply', KubeError.unreachable('GET', '/api/v1/pods', cause))
  return { reason, message, codes }
}

const CONFIGURATION = ['ERR_CONFIGURATION_PROBLEM']

describe('an answer of a target', () => {
  it.each<[number, object, object]>([
    [401, { reason: 'Unauthorized' }, { reason: 'Unauthorized', codes: ['ERR_UNAUTHORIZED'], isFinal: true }],
    [403, { reason: 'Forbidden' }, { reason: 'Forbidden', codes: [], isFinal: false }],
    [400, { reason: 'BadRequest' }, { reason: 'BadRequest', codes: CONFIGURATION, isFinal: true }],
    [405, { reason: 'MethodNotAllowed' }, { codes: CONFIGURATION }],
    [413, { reason: 'RequestEntityTooLarge' }, { codes: CONFIGURATION }],
    [415, { reason: 'UnsupportedMediaType' }, { codes: CONFIGURATION }],
    [422, { reason: 'Invalid' }, { reason: 'Invalid', codes: CONFIGURATION }],
    [500, { message: 'etcdserver: request is too large' }, { codes: CONFIGURATION, isFinal: true }],
    [500, { message: 'rpc error: trying to send message larger than max (3 vs. 2)' }, { codes: CONFIGURATION }],
    [500, { reason: 'InternalError' }, { codes: [], isFinal: false }],
    [404, { reason: 'NotFound' }, { codes: [], isFinal: false }],
    [409, { reason: 'Conflict' }, { codes: [], isFinal: false }],
    [429, { reason: 'TooManyRequests' }, { codes: [], isFinal: false }],
    [503, { reason: 'ServiceUnavailable' }, { codes: [], isFinal: false }],
  ])('%d %j', (status, body, expected) => {
    expect(answered(status, body)).toMatchObject(expected)
  })

  it('of a decoder keeps the fields and removes the values', () => {
    const says = (message: string) =>
      answered(400, { reason: 'BadRequest', message }).message.replace(`${REQUEST}: 400 BadRequest: `, '')
    expect(
      says(
        'ConfigMap in version "v1" cannot be handled as a ConfigMap: json: cannot unmarshal number into Go struct field ConfigMap.data of type string',
      ),
    ).toContain('version "v1"')
    expect(says('strict decoding error: unknown field "spec.replica"')).toBe(
      'strict decoding error: unknown field "spec.replica"',
    )
    expect(says('parsing time "can\\"ary" as "2006": cannot parse "canary" as "2006"')).not.toContain('ary')
  })

  it('of a webhook or of a failing server keeps names and removes quoted contents', () => {
    const rbac =
      'secrets "s" is forbidden: User "system:serviceaccount:n:a" cannot get resource "secrets" in API group "" in the namespace "n"'
    expect(answered(403, { reason: 'Forbidden', message: rbac }).message).toBe(`${REQUEST}: 403 Forbidden: ${rbac}`)
    const webhook =
      'admission webhook "w.example" denied the request: value "canary" of field "spec.x" is bad, and "field \\"canary'
    for (const [status, reason] of [
      [403, 'Forbidden'],
      [500, 'InternalError'],
    ] as const) {
      const { message } = answered(status, { reason, message: webhook })
      expect(message).toBe(
        `${REQUEST}: ${status} ${reason}: admission webhook "w.example" denied the request: value "..." of field "spec.x" is bad, and "..."`,
      )
    }
    const cut = answered(403, { reason: 'Forbidden', message: `"${'canary '.repeat(1000)}` }).message
    expect(cut).toBe(`${REQUEST}: 403 Forbidden: "..."`)
  })

  it('in which a webhook or a policy denies the request is retried for every status code, and keeps the name of the webhook or policy and the reason', () => {
    const denied = 'admission webhook "w.example" denied the request: '
    const ends = { codes: [], isFinal: false }
    const says = (status: number, reason: unknown, message: string) =>
      answered(status, { reason, message, details: { kind: 'Deployment', name: 'web' } })
    const sentence = `${denied}value "canary" of field "spec.x" is bad`
    const told = `${denied}value "..." of field "spec.x" is bad`
    for (const status of [400, 401, 403, 404, 405, 409, 413, 415, 422, 429, 500])
      expect(says(status, 'Invalid', sentence)).toEqual({
        reason: 'Invalid',
        message: `${REQUEST}: ${status} Invalid: ${told}`,
        ...ends,
      })
    // Without a reason, or with a sentence for one, as libraries give it.
    for (const reason of [undefined, '', 7, 'the canary sings'])
      expect(says(400, reason, sentence)).toEqual({
        reason: 'WebhookDenied',
        message: `${REQUEST}: 400 WebhookDenied: ${told}`,
        ...ends,
      })
    expect(says(413, '', `${denied}etcdserver: request is too large`)).toMatchObject(ends)
    const silent = 'admission webhook "w.example" denied the request without explanation'
    expect(says(400, '', silent)).toMatchObject({ message: `${REQUEST}: 400 WebhookDenied: ${silent}`, ...ends })
    const policy = `ValidatingAdmissionPolicy 'p' with binding 'b' denied request: `
    expect(says(422, 'Invalid', `deployments "web" is forbidden: ${policy}it is "canary"`)).toEqual({
      reason: 'Invalid',
      message: `${REQUEST}: 422 Invalid: forbidden: ${policy}it is "..."`,
      ...ends,
    })
    const invalid = `${denied}Thing "a" is invalid: [spec.a: Invalid value: 4711: must be odd, spec.b: Invalid value: map[string]int{"canary":4711}: is long]`
    expect(says(422, 'Invalid', invalid).message).toBe(
      `${REQUEST}: 422 Invalid: ${denied}Thing "..." is invalid: [spec.a: Invalid value: ...: must be odd, spec.b: Invalid value: ...: is long]`,
    )
  })

  it('that only quotes the words of a denial does not count as a denial', () => {
    const quoted = 'ConfigMap "admission webhook \\"w\\" denied the request: x" is invalid'
    expect(answered(422, { reason: 'Invalid', message: quoted })).toMatchObject({ codes: CONFIGURATION })
  })

  it('does not end a deletion, unless the target rejects the credentials', () => {
    const codesOf = (status: number) =>
      toRemovalError('Delete', KubeError.fromResponse(REQUEST, { statusCode: status, headers: {} }, '{"reason":"R"}'))
        .codes
    for (const status of [400, 405, 413, 415, 422]) expect(codesOf(status)).toEqual([])
    expect(codesOf(401)).toEqual(['ERR_UNAUTHORIZED'])
  })

  it('that is not a Status is not quoted', () => {
    expect(answered(502, '<html>canary: canary</html>').message).toBe(`${REQUEST}: 502 Unknown`)
    expect(answered(422, 'canary').message).not.toContain('canary')
    expect(answered(400, 'canary').message).not.toContain('canary')
  })

  it.each([['x'.repeat(100)], ['canary: canary'], [7], [{ canary: 1 }], [null]])(
    'with an invalid reason, %j, is not quoted',
    (reason) => {
      expect(answered(500, { reason, message: 'canary' })).toMatchObject({
        reason: 'Unknown',
        message: `${REQUEST}: 500 Unknown`,
      })
    },
  )

  it('is shortened', () => {
    expect(answered(500, { reason: 'InternalError', message: 'x'.repeat(100_000) }).message).toHaveLength(1000)
  })
})

describe('a failed connection to a target', () => {
  it('reports the code, not the address', () => {
    const cause = Object.assign(new Error('connect ECONNREFUSED 10.1.2.3:6443'), { code: 'ECONNREFUSED' })
    expect(unanswered(cause)).toEqual({
      reason: 'Unreachable',
      codes: [],
      message: "GET /api/v1/pods: no answer from the target's server: ECONNREFUSED",
    })
    expect(unanswered(new Error('canary')).message).toBe("GET /api/v1/pods: no answer from the target's server")
    expect(unanswered('canary').message).not.toContain('canary')
  })

  it.each([
    'CERT_HAS_EXPIRED',
    'DEPTH_ZERO_SELF_SIGNED_CERT',
    'ERR_TLS_CERT_ALTNAME_INVALID',
    'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
  ])('with an untrusted certificate ends the job: %s', (code) => {
    const cause = Object.assign(new Error("Host: 10.1.2.3. is not in the cert's altnames"), { code })
    const error = unanswered(cause)
    expect(error).toMatchObject({ reason: 'UntrustedServer', codes: CONFIGURATION })
    expect(error.message).toContain(code)
    expect(error.message).not.toContain('10.1.2.3')
  })
})

describe('another error', () => {
  it('is returned when it is a DeployError, and is thrown as a bug otherwise', () => {
    const error = new DeployError('Other', 'Reason', 'text')
    expect(toDeployError('Apply', error)).toBe(error)
    expect(() => toDeployError('Apply', new TypeError('bug'))).toThrow(TypeError)
  })
})
