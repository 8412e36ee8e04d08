// A namespace whose rules refuse what Pawl writes into statuses: its jobs wait for their back-off and hold nobody up, say so, and go on when the rules
// are gone. On real servers, with admission policies.

import { afterEach, describe, expect, it, vi } from 'vitest'
import { type KubeObject, type ObjectList, resourcePath } from '../../activities/kube/client.ts'
import { installation } from '../support/cluster.ts'
import { useTenants } from '../support/tenants.ts'

// A worker has ten slots for workflow tasks.
const MANY = process.env['PAWL_LONG'] === undefined ? 15 : 30
const SOME = 5
const USUAL_MS = 10_000

const tenants = useTenants('refused-status', ['strict', 'usual'])
const strict = () => tenants.of('strict')
const usual = () => tenants.of('usual')

const PATIENT = { timeout: 60_000, interval: 200 }
const ADMISSION = '/apis/admissionregistration.k8s.io/v1'
const NAME = 'strict-statuses'

describe.each([
  ['of executions', 'executions', 'false'],
  ['of installations that would end their job', 'installations', "object.status.phase != 'Succeeded'"],
])('a policy that refuses the statuses %s in one namespace', (_, plural, expression) => {
  afterEach(allow)

  it('holds up no other namespace, is told, and is gone on from when it is gone', async () => {
    await refuse(plural, expression)
    const names = Array.from({ length: MANY }, (_, index) => `${plural}-${index}`)
    await Promise.all(
      names.map(async (name) => await strict().create(installation(name, [{ name: 'a' }]), 'installations')),
    )
    // Then the next thing that their runs do is what is refused.
    await vi.waitFor(async () => expect(await begun(plural)).toBeGreaterThanOrEqual(SOME), PATIENT)

    await usual().create(installation(plural, [{ name: 'a' }]), 'installations')
    const good = await usual().finished(plural, undefined, 'installations', USUAL_MS)
    expect(good.status).toMatchObject({ phase: 'Succeeded' })

    await vi.waitFor(
      async () => {
        const rows = await tenants.pawl.db
          .selectFrom('job')
          .select(['name', 'outcome', 'last_error'])
          .where('namespace', '=', 'strict')
          .where('outcome', 'is', null)
          .execute()
        expect(rows.map(({ name }) => name).sort()).toEqual([...names].sort())
        for (const { last_error } of rows) expect(last_error).toMatchObject({ reason: 'Invalid' })
      },
      { timeout: 60_000, interval: 500 },
    )
    const warnings = await warningsOf(names[0]!)
    expect(warnings).toMatchObject([{ type: 'Warning', reason: 'Invalid' }])
    expect(String(warnings[0]?.['message'])).toContain(NAME)

    await allow()
    for (const name of names)
      expect((await strict().finished(name, undefined, 'installations', 100_000)).status).toMatchObject({
        phase: 'Succeeded',
      })
  }, 300_000)
})

/** How many of the installations have rendered their execution. */
async function begun(prefix: string): Promise<number> {
  return (await strict().list('executions')).filter(({ metadata }) => metadata.name.startsWith(`${prefix}-`)).length
}

async function warningsOf(name: string): Promise<readonly KubeObject[]> {
  const path = resourcePath({ apiVersion: 'v1', plural: 'events' }, 'strict')
  const { items } = await strict().kube.request<ObjectList>('GET', path, {
    query: { fieldSelector: `involvedObject.name=${name}` },
  })
  return items.filter(({ reason }) => reason === 'Invalid')
}

async function refuse(plural: string, expression: string): Promise<void> {
  const rule = {
    apiGroups: ['landscaper.gardener.cloud'],
    apiVersions: ['*'],
    operations: ['UPDATE'],
    resources: [`${plural}/status`],
  }
  const policy = {
    matchConstraints: { resourceRules: [rule] },
    validations: [{ expression, message: 'not here' }],
    failurePolicy: 'Fail',
  }
  const namespaceSelector = { matchLabels: { 'kubernetes.io/metadata.name': 'strict' } }
  const binding = { policyName: NAME, validationActions: ['Deny'], matchResources: { namespaceSelector } }
  const { kube } = strict()
  await kube.request('POST', `${ADMISSION}/validatingadmissionpolicies`, {
    body: { metadata: { name: NAME }, spec: policy },
  })
  await kube.request('POST', `${ADMISSION}/validatingadmissionpolicybindings`, {
    body: { metadata: { name: NAME }, spec: binding },
  })
  // A policy counts some time after it was made.
  await strict().create({ ...installation('probe', [], { triggered: false }) }, 'installations')
  const [probed, parts] =
    plural === 'installations'
      ? ['installations', {}]
      : [
          'executions',
          {
            apiVersion: 'landscaper.gardener.cloud/v1alpha1',
            kind: 'Execution',
            metadata: { name: 'probe' },
            spec: { deployItems: [] },
          },
        ]
  if (probed === 'executions') await strict().create(parts as KubeObject & { apiVersion: string }, 'executions')
  await vi.waitFor(
    async () => {
      await expect(
        strict().patch(probed, 'probe', { status: { phase: 'Succeeded', lastError: null } }, 'status'),
      ).rejects.toMatchObject({ status: 422 })
    },
    { timeout: 30_000, interval: 200 },
  )
}

async function allow(): Promise<void> {
  for (const plural of ['validatingadmissionpolicybindings', 'validatingadmissionpolicies'])
    await strict()
      .kube.request('DELETE', `${ADMISSION}/${plural}/${NAME}`)
      .catch(() => undefined)
  for (const plural of ['installations', 'executions'])
    if ((await strict().get(plural, 'probe')) !== undefined) await strict().delete(plural, 'probe')
}
