import { describe, expect, it } from 'vitest'

import { chartValues } from '../../../../worker/cli/install/chart-values.ts'
import { type Manifest, type Release, renderChart } from '../../../../worker/cli/install/render-chart.ts'

const ALL = 'wings={chaos,foundationdb,landscaper},webhook.enabled=true,api.enabled=true,chaosConfig.controller={}'

async function render(release: Release, ...sets: string[]): Promise<readonly Manifest[]> {
  return await renderChart(release, await chartValues({ files: [], sets }))
}

function identity({ kind, metadata: { name, namespace = '' } }: Manifest): string {
  return `${kind} ${namespace}/${name}`
}

describe('two releases of the chart in two namespaces', () => {
  it.each([
    ['all namespaces', 'cluster=local'],
    ['the same namespace', 'watchNamespace=team'],
  ])('have no object in common when they watch %s', async (_, scope) => {
    const [a, b] = [
      await render({ name: 'pawl', namespace: 'a' }, ALL, scope),
      await render({ name: 'pawl', namespace: 'b' }, ALL, scope),
    ]
    const names = new Set(a.map(identity))
    expect(names.size).toBe(a.length)
    expect(b.map(identity).filter((one) => names.has(one))).toEqual([])
    expect(a.filter(({ kind }) => /Role/.test(kind)).length).toBeGreaterThan(15)
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
