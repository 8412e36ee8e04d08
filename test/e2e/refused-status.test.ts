// Admission policies and webhooks of one namespace refuse Pawl's status updates, with any status code or without an answer. Jobs of the namespace wait for
// their back-off and name the refusal, jobs of other namespaces continue, and the refused jobs end when the rules are removed. On real servers.

import { createServer, type Server } from 'node:https'
import type { AddressInfo } from 'node:net'
import { json } from 'node:stream/consumers'
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest'
import type { KubeObject, ObjectList } from '../../activities/kube/client.ts'
import { resourcePath } from '../../activities/kube/resource-path.ts'
import { Authority } from '../support/servers/certificates.ts'
import { installation } from '../support/cluster/cluster.ts'
import { byForm, isLong, sampleOf } from '../support/matrix/form.ts'
import { useTenants } from '../support/tenants/tenants.ts'

// A worker has ten slots for workflow tasks.
const MANY = byForm(15, 30)
const SOME = 5
// Far longer than a job takes, and far less than a delay by the refused jobs.
const USUAL_MS = 90_000

const tenants = useTenants('refused-status', ['strict', 'usual'])
const strict = () => tenants.of('strict')
const usual = () => tenants.of('usual')

const PATIENT = { timeout: 60_000, interval: 200 }
const ADMISSION = '/apis/admissionregistration.k8s.io/v1'
const NAME = 'strict-statuses'

interface Rule {
  readonly plural: 'executions' | 'installations'
  readonly expression: string
  /** The server's answer to a refused write. */
  readonly answer: { readonly status: number; readonly reason: string }
}

const RULES: readonly (readonly [string, Rule])[] = [
  [
    'of executions',
    { plural: 'executions', expression: 'false', answer: { status: 413, reason: 'RequestEntityTooLarge' } },
  ],
  [
    'of installations that would end their job',
    {
      plural: 'installations',
      expression: "object.status.phase != 'Succeeded'",
      answer: { status: 422, reason: 'Invalid' },
    },
  ],
]

describe.each(sampleOf('refused statuses: policies', RULES, 1))(
  'a policy that refuses the statuses %s in one namespace',
  (_, rule) => {
    afterEach(allow)

    it('delays no other namespace, is named in an Event and in the journal, and its jobs end when it is removed', async () => {
      await refuse(rule)
      const { reason } = rule.answer
      const prefix = `${rule.plural}-${reason.toLowerCase()}`
      const names = await startMany(prefix, MANY)
      await usualEnds(prefix, USUAL_MS)
      await areOpen(names, reason)
      await vi.waitFor(async () => {
        const warnings = await warningsOf(names[0] ?? '', reason)
        expect(warnings).toMatchObject([{ type: 'Warning', reason }])
        expect(String(warnings[0]?.['message'])).toContain(NAME)
      }, PATIENT)

      await allow()
      await allEnd(names)
    }, 500_000)
  },
)

// A webhook may answer with 401, which Pawl retries like an expired token, or not answer. Without an answer each update occupies its workflow task for 12 s.
describe.each([
  { does: 'answers 401', reason: 'Unauthorized', plural: 'executions', count: MANY, code: 401 },
  ...(isLong
    ? ([
        { does: 'never answers', reason: 'Unreachable', plural: 'executions', count: 12 },
        // Their first write.
        { does: 'never answers', reason: 'Unreachable', plural: 'installations', count: 30 },
      ] as const)
    : []),
] as const)('a webhook that $does for statuses of $plural in one namespace', (row) => {
  const { reason, plural, count } = row
  const code = 'code' in row ? row.code : undefined
  let server: Server
  let authority: Authority
  beforeAll(async () => {
    authority = await Authority.make('an authority')
    server = createServer(await authority.issue('localhost'), (request, response) => {
      void json(request).then((review) => {
        const { uid } = (review as { readonly request: { readonly uid: string } }).request
        const head = { apiVersion: 'admission.k8s.io/v1', kind: 'AdmissionReview' }
        const answer = { uid, allowed: false, status: { code, reason, message: `${NAME}: not here` } }
        if (code !== undefined) response.end(JSON.stringify({ ...head, response: answer }))
      })
    })
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  })
  afterEach(removeWebhook)
  afterAll(async () => {
    server.closeAllConnections()
    await new Promise((resolve) => server.close(resolve))
  })

  it('delays no other namespace, and its jobs end when it is removed', async () => {
    await addWebhook((server.address() as AddressInfo).port, authority.cert, plural)
    const prefix = `${plural}-${reason.toLowerCase()}`
    const names = await startMany(prefix, count, plural === 'installations' ? started : rendered)
    await usualEnds(prefix, USUAL_MS)
    await areOpen(names, reason)
    await removeWebhook()
    // Their back-off may be long. An edit wakes them.
    for (const name of names) await strict().patch('installations', name, { metadata: { labels: { touched: 'yes' } } })
    await allEnd(names)
  }, 400_000)
})

/** @returns the names, when the next write of some runs is the refused one. */
async function startMany(prefix: string, count: number, begun = rendered): Promise<readonly string[]> {
  const names = Array.from({ length: count }, (_, index) => `${prefix}-${index}`)
  await Promise.all(
    names.map(async (name) => await strict().create(installation(name, [{ name: 'a' }]), 'installations')),
  )
  await vi.waitFor(async () => expect(await begun(prefix)).toBeGreaterThanOrEqual(SOME), PATIENT)
  return names
}

async function usualEnds(name: string, withinMs: number): Promise<void> {
  await usual().create(installation(name, [{ name: 'a' }]), 'installations')
  const good = await usual().waitUntilFinished(name, undefined, 'installations', withinMs)
  expect(good.status).toMatchObject({ phase: 'Succeeded' })
}

async function areOpen(names: readonly string[], reason: string): Promise<void> {
  await vi.waitFor(
    async () => {
      const rows = await tenants.pawl.db
        .selectFrom('job')
        .select(['name', 'outcome', 'last_error'])
        .where('namespace', '=', 'strict')
        .where('outcome', 'is', null)
        .execute()
      expect(rows.map(({ name }) => name).sort()).toEqual([...names].sort())
      for (const { last_error } of rows) expect(last_error).toMatchObject({ reason })
    },
    { timeout: 90_000, interval: 500 },
  )
}

async function allEnd(names: readonly string[]): Promise<void> {
  for (const name of names)
    expect((await strict().waitUntilFinished(name, undefined, 'installations', 200_000)).status).toMatchObject({
      phase: 'Succeeded',
    })
}

/** The number of Installations with an Execution. */
async function rendered(prefix: string): Promise<number> {
  return (await strict().list('executions')).filter(({ metadata }) => metadata.name.startsWith(`${prefix}-`)).length
}

/** The number of Installations with an open run. */
async function started(prefix: string): Promise<number> {
  const runs = tenants.pawl.db.selectFrom('job').select('name').where('namespace', '=', 'strict')
  return (await runs.where('name', 'like', `${prefix}-%`).where('outcome', 'is', null).execute()).length
}

async function warningsOf(name: string, asked: string): Promise<readonly KubeObject[]> {
  const path = resourcePath({ apiVersion: 'v1', plural: 'events' }, 'strict')
  const { items } = await strict().kube.request<ObjectList>('GET', path, {
    query: { fieldSelector: `involvedObject.name=${name}` },
  })
  return items.filter(({ reason }) => reason === asked)
}

function statusesOf(plural: string) {
  return {
    apiGroups: ['landscaper.gardener.cloud'],
    apiVersions: ['*'],
    operations: ['UPDATE'],
    resources: [`${plural}/status`],
  }
}

const namespaceSelector = { matchLabels: { 'kubernetes.io/metadata.name': 'strict' } }

async function refuse({ plural, expression, answer }: Rule): Promise<void> {
  const policy = {
    matchConstraints: { resourceRules: [statusesOf(plural)] },
    validations: [{ expression, message: 'not here', reason: answer.reason }],
    failurePolicy: 'Fail',
  }
  const binding = { policyName: NAME, validationActions: ['Deny'], matchResources: { namespaceSelector } }
  const { kube } = strict()
  await kube.request('POST', `${ADMISSION}/validatingadmissionpolicies`, {
    body: { metadata: { name: NAME }, spec: policy },
  })
  await kube.request('POST', `${ADMISSION}/validatingadmissionpolicybindings`, {
    body: { metadata: { name: NAME }, spec: binding },
  })
  // The server applies a policy some time after its creation.
  const probe = await createProbe(plural)
  await vi.waitFor(async () => {
    await expect(
      strict().patch(plural, probe, { status: { phase: 'Succeeded', lastError: null } }, 'status'),
    ).rejects.toMatchObject({ status: answer.status })
  }, PATIENT)
}

const probes: (readonly [plural: Rule['plural'], name: string])[] = []

/** Creates an object without a job. @returns its name. */
async function createProbe(plural: Rule['plural']): Promise<string> {
  const name = `probe-${probes.length}`
  probes.push([plural, name])
  if (plural === 'installations') {
    await strict().create({ ...installation(name, [], { triggered: false }) }, 'installations')
    return name
  }
  const head = { apiVersion: 'landscaper.gardener.cloud/v1alpha1', kind: 'Execution', metadata: { name } }
  await strict().create({ ...head, spec: { deployItems: [] } }, 'executions')
  return name
}

async function addWebhook(port: number, authority: string, plural: Rule['plural']): Promise<void> {
  const webhook = {
    name: 'silent.example.com',
    clientConfig: { url: `https://localhost:${port}/`, caBundle: Buffer.from(authority).toString('base64') },
    rules: [statusesOf(plural)],
    failurePolicy: 'Fail',
    sideEffects: 'None',
    admissionReviewVersions: ['v1'],
    timeoutSeconds: 30,
    namespaceSelector,
  }
  await strict().kube.request('POST', `${ADMISSION}/validatingwebhookconfigurations`, {
    body: { metadata: { name: NAME }, webhooks: [webhook] },
  })
  const probe = await createProbe(plural)
  await vi.waitFor(async () => {
    const path = resourcePath({ apiVersion: 'landscaper.gardener.cloud/v1alpha1', plural }, 'strict', probe, 'status')
    await expect(
      strict().kube.request('PATCH', path, {
        contentType: 'application/merge-patch+json',
        body: { status: { phase: 'Succeeded' } },
        signal: AbortSignal.timeout(1000),
      }),
    ).rejects.toThrow()
  }, PATIENT)
}

async function removeWebhook(): Promise<void> {
  await strict()
    .kube.request('DELETE', `${ADMISSION}/validatingwebhookconfigurations/${NAME}`)
    .catch(() => undefined)
  await removeProbes()
}

async function allow(): Promise<void> {
  for (const plural of ['validatingadmissionpolicybindings', 'validatingadmissionpolicies'])
    await strict()
      .kube.request('DELETE', `${ADMISSION}/${plural}/${NAME}`)
      .catch(() => undefined)
  await removeProbes()
}

async function removeProbes(): Promise<void> {
  for (const [plural, name] of probes)
    if ((await strict().get(plural, name)) !== undefined) await strict().delete(plural, name)
}
