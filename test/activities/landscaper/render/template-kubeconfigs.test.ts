// The template functions that issue kubeconfigs: their requests and results; error messages contain no kubeconfig. Source: spec/landscaper.md 3.7, 3.8.

import { afterAll, describe, expect, it } from 'vitest'
import { type DeployBindings, renderDeployItems } from '../../../../activities/landscaper/render/executions.ts'
import {
  createTemplateEngine,
  type TemplateEngine,
} from '../../../../activities/landscaper/render/engine/template-engine.ts'
import type {
  KubeconfigSpec,
  KubeconfigSource,
} from '../../../../activities/landscaper/render/engine/kubeconfig-requests.ts'
import { bindings, blueprintOf, items, rejection } from './execution-builders.ts'

const engines = createTemplateEngine({ threads: 1, timeoutMs: 20_000 })
afterAll(() => engines.close())

const SECRET = 'VERY-secret-Token'
const inBase64 = (text: string) => Buffer.from(text).toString('base64')

/**
 * The engine with a source of kubeconfigs, which calls `issue` if it is given.
 *
 * @returns also the requests that the source gets, in order.
 */
function engineWithSource(issue?: KubeconfigSource['issue']): { engine: TemplateEngine; requested: KubeconfigSpec[] } {
  const requested: KubeconfigSpec[] = []
  const source: KubeconfigSource = {
    async issue(request) {
      requested.push(request.ask)
      if (issue !== undefined) return await issue(request)
      return { kubeconfig: inBase64(`${SECRET} of ${request.ask.kind}`), expiresAt: '2030-01-02T03:04:05.000Z' }
    },
  }
  return { engine: { ...engines, kubeconfigs: source }, requested }
}

const imports = {
  seconds: 3600,
  account: 'deployer',
  cluster: { metadata: { name: 'one', namespace: 'demo' }, spec: {} },
}
const bound: DeployBindings = bindings(imports)
const render = async (engine: TemplateEngine, template: unknown, type = 'GoTemplate') =>
  await renderDeployItems(engine, blueprintOf({ template, type }), bound)
/** Evaluates an expression in a Go template. */
async function value(engine: TemplateEngine, expression: string): Promise<unknown> {
  const config = `{ apiVersion: mock/v1, kind: ProviderConfiguration, it: {{ ${expression} | toJson }} }`
  const { items: found } = await render(engine, `deployItems: [{ name: a, type: mock, config: ${config} }]`)
  return found[0]?.config['it']
}
/** Evaluates an expression in a Spiff template. */
async function spiffValue(engine: TemplateEngine, expression: string): Promise<unknown> {
  const config = { apiVersion: 'mock/v1', kind: 'ProviderConfiguration', it: `(( ${expression} ))` }
  const { items: found } = await render(engine, { deployItems: [{ name: 'a', type: 'mock', config }] }, 'Spiff')
  return found[0]?.config['it']
}

const CALLS: readonly (readonly [name: string, go: string, spiff: string, request: KubeconfigSpec])[] = [
  [
    'getServiceAccountKubeconfig',
    'getServiceAccountKubeconfig .imports.account "apps" .imports.seconds .imports.cluster | b64dec',
    'getServiceAccountKubeconfig(imports.account, "apps", imports.seconds, imports.cluster)',
    { kind: 'serviceAccount', target: 'one', name: 'deployer', namespace: 'apps', expirationSeconds: 3600 },
  ],
  [
    'getShootAdminKubeconfig',
    'getShootAdminKubeconfig "berry" "garden-x" 86400 .imports.cluster | b64dec',
    'getShootAdminKubeconfig("berry", "garden-x", 86400, imports.cluster)',
    { kind: 'shoot', target: 'one', name: 'berry', namespace: 'garden-x', expirationSeconds: 86400 },
  ],
  [
    'getOidcKubeconfig',
    'getOidcKubeconfig "https://login.example.com" "me" .imports.cluster | b64dec',
    'getOidcKubeconfig("https://login.example.com", "me", imports.cluster)',
    { kind: 'oidc', target: 'one', issuerURL: 'https://login.example.com', clientID: 'me' },
  ],
]

describe('a template function that issues kubeconfigs', () => {
  it.each(CALLS)('returns the kubeconfig to Go and Spiff templates in base64: %s', async (_, go, spiff, request) => {
    const { engine, requested } = engineWithSource()
    expect(await value(engine, go)).toBe(`${SECRET} of ${request.kind}`)
    expect(await spiffValue(engine, spiff)).toBe(inBase64(`${SECRET} of ${request.kind}`))
    expect(requested).toEqual([request, request])
  })

  it.each([
    ['serviceAccount', 'getServiceAccountKubeconfigWithExpirationTimestamp'],
    ['shoot', 'getShootAdminKubeconfigWithExpirationTimestamp'],
  ])('returns the kubeconfig of a %s with its expiration time: %s', async (kind, name) => {
    const { engine, requested } = engineWithSource()
    const expected = {
      kubeconfig: inBase64(`${SECRET} of ${kind}`),
      expirationTimestamp: Date.parse('2030-01-02T03:04:05Z') / 1000,
      expirationTimestampReadable: '2030-01-02T03:04:05Z',
    }
    expect(await value(engine, `${name} "a" "b" 600 .imports.cluster`)).toEqual(expected)
    expect(await spiffValue(engine, `${name}("a", "b", 600, imports.cluster)`)).toEqual(expected)
    expect(requested).toHaveLength(2)
  })
})

describe('a template that requests kubeconfigs', () => {
  const call = (name: string) => `{{ getServiceAccountKubeconfig "${name}" "b" 600 .imports.cluster }}`

  it('causes one request for equal calls', async () => {
    const { engine, requested } = engineWithSource()
    await render(engine, [`# ${call('x')} ${call('x')} ${call('y')}`, items('a')].join('\n'))
    expect(requested.map((one) => one.kind !== 'oidc' && one.name)).toEqual(['x', 'y'])
  })

  it('fails after 20 different requests', async () => {
    const { engine, requested } = engineWithSource()
    // The engine renders the template again after each issued kubeconfig, and each rendering requests another one.
    const template = '{{ getServiceAccountKubeconfig (randAlphaNum 8) "b" 600 .imports.cluster }}'
    const failed = await rejection(render(engine, template))
    expect(failed).toMatchObject({ code: 'TemplatingFailed' })
    expect(failed.message).toContain('found more than 20 requests for kubeconfigs; expected fewer')
    expect(requested).toHaveLength(20)
  })

  it('reveals no kubeconfig when it fails later', async () => {
    const { engine } = engineWithSource()
    const assignment = '{{ $k := getServiceAccountKubeconfig "a" "b" 600 .imports.cluster | b64dec }}'
    const endings = ['{{ fail $k }}', 'a: {{ $k }}: : [', '{{ index .imports $k "x" "y" }}']
    for (const template of endings.map((ending) => `${assignment}${ending}`)) {
      const { message } = await rejection(render(engine, template))
      expect(message).not.toContain('secret')
      expect(message).not.toContain(inBase64(SECRET).slice(0, 8))
    }
  })

  it('fails with the error of the source', async () => {
    const broken = new Error('no such thing')
    const { engine } = engineWithSource(() => Promise.reject(broken))
    expect(await rejection(render(engine, call('x')))).toBe(broken)
  })

  it.each([
    [
      'getServiceAccountKubeconfig "a" "b" 10 .imports.cluster',
      'expirationSeconds: found another value, expected a whole number of at least 600',
    ],
    [
      'getServiceAccountKubeconfig "a" "b" 600.5 .imports.cluster',
      'expirationSeconds: found another value, expected a whole number of at least 600',
    ],
    ['getServiceAccountKubeconfig "a" 7 600 .imports.cluster', 'argument namespace: found no text, expected one'],
    ['getShootAdminKubeconfig "a"', 'found 1 arguments, expected name, namespace, expirationSeconds and target'],
    ['getOidcKubeconfig "" "b" .imports.cluster', 'argument issuerURL: found no text, expected one'],
  ])('fails with the reason for the invalid call %s', async (expression, problem) => {
    const { engine, requested } = engineWithSource()
    expect((await rejection(value(engine, expression))).message).toContain(problem)
    expect(requested).toEqual([])
  })

  it('fails with a clear error when the engine has no source of kubeconfigs', async () => {
    const { message } = await rejection(render(engines, call('x')))
    expect(message).toContain('kubeconfigs are not issued for this template')
  })
})
