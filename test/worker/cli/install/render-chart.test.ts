import { describe, expect, it } from 'vitest'

import { chartValues } from '../../../../worker/cli/install/chart-values.ts'
import { type Manifest, type Release, renderChart } from '../../../../worker/cli/install/render-chart.ts'
import { UsageError } from '../../../../worker/server/usage-error.ts'

const ALL = 'wings={chaos,foundationdb,landscaper},webhook.enabled=true,api.enabled=true,chaosConfig.controller={}'
const FURTHER = [
  'extraWorkers[0].name=x,extraWorkers[0].replicas=1,extraWorkers[0].args={},worker.autoscaling.enabled=true',
  'podMonitor.enabled=true,monitoring.dashboards.enabled=true,monitoring.rules.enabled=true',
]
const TRIAL = `trial.enabled=true,trial.password=abcdefgh1,trial.contentKey=${'a'.repeat(64)}`

async function render(release: Release, ...sets: string[]): Promise<readonly Manifest[]> {
  return await renderChart(release, await chartValues({ files: [], sets }))
}

function identity({ kind, metadata: { name, namespace = '' } }: Manifest): string {
  return `${kind} ${namespace}/${name}`
}

describe('two releases of the chart', () => {
  const [here, elsewhere] = [
    { name: 'pawl', namespace: 'a' },
    { name: 'pawl', namespace: 'b' },
  ]

  it.each([
    ['in two namespaces', 'all namespaces', elsewhere, 'cluster=local'],
    ['in two namespaces', 'the same namespace', elsewhere, 'watchNamespace=team'],
    ['in one namespace', 'the same namespace', { name: 'blue', namespace: 'a' }, 'watchNamespace=team'],
  ])('%s have no object in common when they watch %s', async (_, __, other, scope) => {
    const [a, b] = [
      await render(here, ALL, scope, ...FURTHER, TRIAL),
      await render(other, ALL, scope, ...FURTHER, TRIAL),
    ]
    const names = new Set(a.map(identity))
    expect(names.size).toBe(a.length)
    expect(b.map(identity).filter((one) => names.has(one))).toEqual([])
    expect(a.filter(({ kind }) => /Role/.test(kind)).length).toBeGreaterThan(15)
  })

  it.each([[[]], [[TRIAL]]])('name no object of the other release, with %j', async (sets) => {
    const objects = await render({ name: 'blue', namespace: 'a' }, ALL, ...FURTHER, ...sets)
    const texts = textsIn(objects)
    for (const name of ['', '-api', '-api-certificates', '-webhook-certificates', '-chaos', '-worker'])
      expect(JSON.stringify(texts)).toContain(`blue-pawl${name}`)
    const labels = ['app.kubernetes.io/name', 'app.kubernetes.io/part-of']
    const isForeign = ([field, text]: readonly [string, string]) =>
      /(?<!blue-)\bpawl-/.test(text) || (['name', 'secretName'].includes(field) && text === 'pawl')
    expect(texts.filter(([field]) => !labels.includes(field)).filter(isForeign)).toEqual([])
  })

  it('select their own pods only', async () => {
    const objects = await render({ name: 'blue', namespace: 'a' }, ALL, ...FURTHER, TRIAL)
    const selectors = objects.flatMap((one) => selectorsIn(one))
    const kinds = objects.filter((one) => selectorsIn(one).length > 0).map(({ kind }) => kind)
    expect([...new Set(kinds)].toSorted()).toEqual([
      ...['Deployment', 'NetworkPolicy', 'PodDisruptionBudget', 'PodMonitor', 'Service', 'StatefulSet'],
    ])
    for (const one of selectors) expect(one).toMatchObject({ 'app.kubernetes.io/instance': 'blue' })
    for (const { spec } of objects.filter(({ spec: found }) => found?.template !== undefined))
      expect(spec?.template).toMatchObject({ metadata: { labels: { 'app.kubernetes.io/instance': 'blue' } } })
  })

  it('have their own task queue, so that they can share a namespace of Temporal', async () => {
    const queueOf = async (release: Release) =>
      /--task-queue=[^"]*/.exec(JSON.stringify(await render(release, 'cluster=c')))?.[0]
    expect(await queueOf(here)).toBe('--task-queue=c/a/pawl')
    expect(await queueOf(elsewhere)).toBe('--task-queue=c/b/pawl')
  })
})

describe('the names of objects', () => {
  const workerOf = async (name: string, ...sets: string[]) => {
    const objects = await render({ name, namespace: 'a' }, ...sets)
    return objects.flatMap(({ kind, metadata }) => (kind === 'Deployment' ? [metadata.name] : []))[1]
  }

  it.each([
    ['pawl', '', 'pawl-worker'],
    ['team-pawl', '', 'team-pawl-worker'],
    ['team', '', 'team-pawl-worker'],
    ['team', 'nameOverride=engine', 'team-engine-worker'],
    ['team', 'fullnameOverride=x,nameOverride=y', 'x-worker'],
  ])('of the release %s with the values "%s" are like %s', async (release, set, name) => {
    expect(await workerOf(release, ...(set === '' ? [] : [set]))).toBe(name)
  })

  it('have at most 63 characters', async () => {
    const limits: readonly (readonly [string, number])[] = [
      ['-migrate-0-1-0-00000000', 63],
      ['-trial-postgres', 52],
    ]
    for (const [suffix, limit] of limits) {
      const sets = suffix.startsWith('-trial') ? [TRIAL, 'migrate.enabled=false'] : []
      const longest = 'n'.repeat(limit - suffix.length)
      expect(await workerOf('r', `fullnameOverride=${longest}`, ...sets)).toBe(`${longest}-worker`)
      const problem = workerOf('r', `fullnameOverride=${longest}n`, ...sets)
      await expect(problem).rejects.toThrow(UsageError)
      await expect(problem).rejects.toThrow(
        new RegExp(
          `^values: fullnameOverride: the name n+\\S* has ${limit + 1} characters; expected at most ${limit}; set`,
        ),
      )
    }
  })
})

describe('the roles of the chart', () => {
  it('have the namespace and the name of the release in their names', async () => {
    const objects = await render({ name: 'blue', namespace: 'a' })
    const roles = objects.filter(({ kind }) => kind === 'ClusterRole').map(({ metadata }) => metadata.name)
    expect(roles.toSorted()).toEqual([
      'a:blue-pawl-bridge-landscaper',
      'a:blue-pawl-worker-engine',
      'a:blue-pawl-worker-landscaper',
    ])
  })

  it('are bound to roles and ServiceAccounts of the same release', async () => {
    const objects = await render({ name: 'pawl', namespace: 'a' }, ALL)
    const names = new Set(objects.map(identity))
    const bindings = objects.filter((one): one is Binding => one.kind.endsWith('RoleBinding'))
    expect(bindings.length).toBeGreaterThan(8)
    for (const { metadata, roleRef, subjects } of bindings) {
      const namespace = roleRef.kind === 'Role' ? (metadata.namespace ?? '') : ''
      expect(names).toContain(`${roleRef.kind} ${namespace}/${roleRef.name}`)
      for (const { kind, name } of subjects) if (kind !== 'Group') expect(names).toContain(`${kind} a/${name}`)
    }
  })

  it('are missing with rbac.create=false', async () => {
    const objects = await render({ name: 'pawl', namespace: 'a' }, ALL, 'rbac.create=false')
    expect(objects.filter(({ kind }) => /Role/.test(kind))).toEqual([])
    expect(objects.map(identity)).toContain('ServiceAccount a/pawl-worker')
  })
})

describe('the Job that migrates', () => {
  const nameOf = async (...sets: string[]) => {
    const objects = await render({ name: 'pawl', namespace: 'a' }, ...sets)
    return objects.flatMap(({ kind, metadata }) => (kind === 'Job' ? [metadata.name] : []))
  }

  it('has a name that changes with its spec, because the API server rejects changes of the spec', async () => {
    const [name] = await nameOf()
    expect(name).toMatch(/^pawl-migrate-\d+-\d+-\d+-[0-9a-f]{8}$/)
    expect(await nameOf('image.tag=v2')).not.toEqual([name])
    expect(await nameOf('secrets.payloadKey=payload.key')).not.toEqual([name])
    expect(await nameOf('worker.replicas=7')).toEqual([name])
  })
})

interface Binding extends Manifest {
  readonly roleRef: { readonly kind: string; readonly name: string }
  readonly subjects: readonly { readonly kind: string; readonly name: string }[]
}

/** The labels in all fields of an object that select pods. */
function selectorsIn(value: unknown, field = ''): readonly unknown[] {
  if (typeof value !== 'object' || value === null) return []
  const isPlain = ['selector', 'podSelector', 'labelSelector'].includes(field) && !('matchLabels' in value)
  if (field === 'matchLabels' || isPlain) return [value]
  return Object.entries(value).flatMap(([name, child]) => selectorsIn(child, name))
}

/** All texts with the names of their fields, without the alert rules. */
function textsIn(value: unknown, field = ''): readonly (readonly [string, string])[] {
  if (typeof value === 'string') return [[field, value]]
  if (typeof value !== 'object' || value === null || field === 'groups') return []
  return Object.entries(value).flatMap(([name, child]) => textsIn(child, Array.isArray(value) ? field : name))
}
