// Errors of the API server: messages without the contents of objects, and which errors are retried.

import { describe, expect, it } from 'vitest'

import { createKubeClient } from '../../../activities/kube/client.ts'
import {
  isAlreadyExists,
  isConflict,
  isNamespaceTerminating,
  isNotFound,
  KubeError,
  toApplicationFailure,
} from '../../../activities/kube/errors.ts'
import { ScriptedServer } from '../../support/servers/scripted-server.ts'

const answer = (statusCode: number, body: unknown) =>
  KubeError.fromResponse(
    'PATCH /x',
    { statusCode, headers: {} },
    typeof body === 'string' ? body : JSON.stringify(body),
  )

describe('a refused object', () => {
  it('is reported with fields, mistakes and reasons, without values', () => {
    const causes = [
      { field: 'metadata.labels', reason: 'FieldValueInvalid', message: 'Invalid value: "canary": must be short' },
      { field: 'spec.size', reason: 'FieldValueTypeInvalid', message: 'Invalid value: "canary"' },
      { field: 'spec.x', reason: 'FieldValueInvalid', message: '"canary"' },
    ]
    const message = 'DeployItem "a" is invalid: metadata.labels: Invalid value: "canary"'
    const error = answer(422, { reason: 'Invalid', message, details: { kind: 'DeployItem', name: 'a', causes } })
    expect(error.message).toBe(
      'PATCH /x: 422 Invalid: DeployItem "a" is refused: ' +
        'metadata.labels: Invalid value: must be short; spec.size: Invalid value; spec.x: FieldValueInvalid',
    )
  })

  it('is named by the request body if the response has no name', () => {
    const text = JSON.stringify({ reason: 'Invalid', details: { causes: [{ field: 'data', reason: 'Required' }] } })
    const { message } = KubeError.fromResponse('POST /maps', { statusCode: 422, headers: {} }, text, {
      metadata: { name: 'settings' },
    })
    expect(message).toBe('POST /maps: 422 Invalid: object "settings" is refused: data: Required')
  })

  it('is reported with the fields that its kind does not have, without the patch that the API server quotes', () => {
    const value = '{"spec":{"size":"canary: strict decoding error: unknown field \\"canary\\""}}'
    const told = 'strict decoding error: unknown field "spec.replica", unknown field "status.foo"'
    const message = `Invalid value: ${JSON.stringify(value)}: ${told}`
    const causes = [{ field: 'patch', reason: 'FieldValueInvalid', message }]
    expect(answer(422, { reason: 'Invalid', details: { causes } }).message).toBe(
      'PATCH /x: 422 Invalid: object is refused: unknown field spec.replica, status.foo',
    )
  })

  it('is reported with the size limit when the whole object is too long', () => {
    const causes = [
      { field: '[]', reason: 'FieldValueTooLong', message: 'Too long: may not be more than 1048576 bytes' },
    ]
    const error = answer(422, { reason: 'Invalid', details: { kind: 'ConfigMap', name: 'a', causes } })
    expect(error.message).toMatch(/ConfigMap "a" is refused: the whole: Too long: may not be more than 1048576 bytes$/)
  })

  it('is not retried when it is too large for etcd, although the API server answers 500', () => {
    const messages = ['etcdserver: request is too large', 'rpc error: trying to send message larger than max (3 vs. 2)']
    for (const message of messages) {
      const failure = toApplicationFailure(answer(500, { reason: 'InternalError', message }))
      expect(failure).toMatchObject({ type: 'RequestEntityTooLarge', nonRetryable: true })
    }
  })

  it('is reported without the response body when the body is not a Status', () => {
    expect(answer(422, 'canary').message).toBe('PATCH /x: 422 Unknown')
    expect(answer(422, { message: 'canary' }).message).not.toContain('canary')
  })
})

describe('an answer of the API server', () => {
  it.each([
    ...[400, 405, 413, 415, 422].map((status) => [status, true] as const),
    ...[401, 403, 404, 409, 429, 500, 503].map((status) => [status, false] as const),
  ])('with the status %d is non-retryable: %s', (status, isFinal) => {
    expect(toApplicationFailure(answer(status, {})).nonRetryable).toBe(isFinal)
  })

  it.each([
    ['breaks off', { 'content-length': '100' }, '{"canary"'],
    ['is not JSON', {}, 'canary{'],
  ])('that %s is reported as Unreachable, without its text', async (_, headers, text) => {
    const server = await ScriptedServer.start((_request, response) => {
      response.writeHead(200, headers)
      response.write(text, () => (text.endsWith('"') ? response.destroy() : response.end()))
    })
    const kube = createKubeClient({ kubeconfig: server.kubeconfig })
    const error = await kube.request('GET', '/x').catch((failure: unknown) => failure)
    expect(error).toMatchObject({ name: 'KubeError', status: 0, reason: 'Unreachable' })
    expect((error as Error).message).not.toContain('canary')
    await kube.close()
    await server.stop()
  })
})

describe('a denial of a webhook', () => {
  const message = 'admission webhook "w.example" denied the request: it is not found'

  it.each([
    [404, 'NotFound', isNotFound],
    [409, 'Conflict', isConflict],
    [409, 'AlreadyExists', isAlreadyExists],
  ])('does not count as an answer about the requested object: %d %s', (status, reason, is) => {
    const details = { kind: 'shoots', name: 'berry' }
    expect(is(answer(status, { reason, details }))).toBe(true)
    const denied = answer(status, { reason, details, message })
    expect([is(denied), denied.missing, denied.isDenial, denied.redacting(['found']).isDenial]).toEqual([
      ...[false, undefined, true, true],
    ])
  })
})

describe('a missing object', () => {
  const details = { kind: 'shoots', name: 'berry' }

  it('is named when the API server names it', () => {
    expect(answer(404, { reason: 'NotFound', details }).missing).toEqual(details)
  })

  it.each([
    ['an unknown path', 404, '404 page not found'],
    ['an unknown resource', 404, { reason: 'NotFound', details: {} }],
    ['another reason', 404, { reason: 'Gone', details }],
    ['another status', 409, { reason: 'NotFound', details }],
    ['invalid names', 404, { reason: 'NotFound', details: { kind: 1, name: ['berry'] } }],
    ['nothing', 404, 'null'],
  ])('is not read from a response with %s', (_, status, body) => {
    expect(answer(status, body).missing).toBeUndefined()
  })
})

describe('a create in a namespace that is being deleted', () => {
  const message =
    'configmaps "a" is forbidden: unable to create new content in namespace x because it is being terminated'
  const causes = [
    { reason: 'NamespaceTerminating', message: 'namespace x is being terminated', field: 'metadata.namespace' },
  ]

  it('fails with the reason NamespaceTerminating, and is not retried', () => {
    const error = answer(403, { reason: 'Forbidden', message, details: { kind: 'configmaps', name: 'a', causes } })
    expect(isNamespaceTerminating(error)).toBe(true)
    expect(toApplicationFailure(error)).toMatchObject({ type: 'NamespaceTerminating', nonRetryable: true })
  })

  it.each([
    ['the account lacks the right', { reason: 'Forbidden', details: { kind: 'configmaps', name: 'a' } }],
    ['the causes are malformed', { reason: 'Forbidden', details: { causes: 'NamespaceTerminating' } }],
    [
      'a webhook denies it with the same cause',
      { reason: 'Forbidden', message: 'admission webhook "w.example" denied the request: no', details: { causes } },
    ],
  ])('is distinguished from a create that fails because %s', (_, body) => {
    expect(isNamespaceTerminating(answer(403, body))).toBe(false)
  })
})
