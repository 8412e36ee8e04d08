// The wing of Landscaper with Roles of one namespace, by `pawl gen rbac --wings`, and no right anywhere else.

import { execFile } from 'node:child_process'
import { mkdtemp } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { describe, expect, it } from 'vitest'

import { genRbac } from '../../worker/gen/rbac-file.ts'
import { makeAccount } from '../support/rights/accounts.ts'
import { API, blueprintOf, installation, item } from '../support/cluster/cluster.ts'
import { configMap, createTarget, manifestItem } from '../support/landscaper/manifests.ts'
import { deniedTo } from '../support/rights/rights-audit.ts'
import { useStage } from '../support/pawl/stage.ts'

const NAMESPACE = 'rbac-namespace'
const run = promisify(execFile)

const stage = useStage(NAMESPACE, async () => {
  const { servers, cluster } = stage
  const [bridge, worker] = await Promise.all([
    makeAccount(servers, cluster, 'pawl-bridge'),
    makeAccount(servers, cluster, 'pawl-worker'),
  ])
  const out = join(await mkdtemp(join(tmpdir(), 'pawl-rbac-')), 'rbac.yaml')
  const said: string[] = []
  const keep = (line: string) => said.push(line)
  const asked = { files: [], wings: ['landscaper'], name: undefined, namespaces: [NAMESPACE], accounts: NAMESPACE }
  expect(await genRbac({ ...asked, out, check: false, print: keep, complain: keep })).toBe(0)
  await run(servers.kubectlPath, ['--kubeconfig', servers.kubeconfigPath, 'apply', '-f', out])
  return { accounts: { bridge, worker } }
})

describe('Pawl in one namespace, with Roles of that alone', () => {
  it('imports, deploys, exports, and takes everything away again', async () => {
    const { cluster, servers } = stage
    await createTarget(cluster)
    await cluster.create(
      { apiVersion: API, kind: 'DataObject', metadata: { name: 'greeting' }, data: 'hello' },
      'dataobjects',
    )
    await cluster.create(course(), 'installations')
    expect((await cluster.waitUntilFinished('course')).status?.phase).toBe('Succeeded')
    expect(await cluster.get('configmaps', 'made', 'v1')).toMatchObject({ data: { key: 'value' } })
    expect(await cluster.get('dataobjects', 'said')).toMatchObject({ data: 'bye' })
    await cluster.delete('installations', 'course')
    await cluster.waitUntilGone('course', 'installations')
    expect(await cluster.get('configmaps', 'made', 'v1')).toBeUndefined()
    expect(await deniedTo(servers.auditLogPath, `system:serviceaccount:${NAMESPACE}:pawl-`)).toEqual([])
  })
})

/** Imports a text and a Target, deploys an object, and exports what a mock says. */
function course() {
  const deployItems = [
    item({ name: 'mock', config: { export: { word: 'bye' } } }),
    { ...manifestItem({ name: 'manifest', manifests: [configMap('made', NAMESPACE)] }), target: { import: 'here' } },
  ]
  const blueprint = {
    ...blueprintOf([]),
    imports: [
      { name: 'greeting', type: 'data', schema: { type: 'string' } },
      { name: 'here', type: 'target', targetType: 'landscaper.gardener.cloud/kubernetes-cluster' },
    ],
    exports: [{ name: 'said', type: 'data', schema: { type: 'string' } }],
    deployExecutions: [{ name: 'default', type: 'GoTemplate', template: JSON.stringify({ deployItems }) }],
    exportExecutions: [
      {
        name: 'said',
        type: 'GoTemplate',
        template: 'exports:\n  said: {{ index .values "deployitems" "mock" "word" }}\n',
      },
    ],
  }
  const spec = {
    blueprint: { inline: { filesystem: { 'blueprint.yaml': JSON.stringify(blueprint) } } },
    imports: {
      data: [{ name: 'greeting', dataRef: 'greeting' }],
      targets: [{ name: 'here', target: 'here' }],
    },
    exports: { data: [{ name: 'said', dataRef: 'said' }] },
  }
  return { ...installation('course', []), spec }
}
