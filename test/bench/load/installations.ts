// The objects of a load: root Installations with an inline blueprint that renders the deploy items.

import { readFile } from 'node:fs/promises'

import { inParallel } from '../../../activities/kube/in-parallel.ts'
import { API, installation, item } from '../../support/cluster/cluster.ts'
import { configMap, MANIFEST_TYPE, TARGET_TYPE } from '../../support/landscaper/manifests.ts'
import { createAll, listAll, OPERATIONS, PARALLEL, type Place, type Plan, type Subject } from './subject.ts'

/** The prefix of the names of deployed ConfigMaps. */
const DEPLOYED_PREFIX = 'deployed-'

const MOCK_API = 'mock.deployer.landscaper.gardener.cloud/v1alpha1'
const MANIFEST_API = 'manifest.deployer.landscaper.gardener.cloud/v1alpha2'
const TARGET = 'bench-cluster'
const IMPORT = 'cluster'

// A template renders more items than this in a loop, because the list would exceed the size of an object.
const MOST_LISTED = 1000

/** The body of the Installation with this number. */
function installationBody(plan: Plan, index: number, namespace: string) {
  const isManifest = plan.deployer === 'manifest'
  const body = installation(`inst-${index}`, [], {
    ...(isManifest && { spec: { imports: { targets: [{ name: IMPORT, target: TARGET }] } } }),
    blueprint: {
      ...(isManifest && { imports: [{ name: IMPORT, type: 'target', targetType: TARGET_TYPE }] }),
      deployExecutions: [{ name: 'default', type: 'GoTemplate', template: templateOf(plan, index, namespace) }],
    },
  })
  return { ...body, metadata: { ...body.metadata, namespace } }
}

function templateOf(plan: Plan, index: number, namespace: string): string {
  const { items, shape } = plan
  if (shape === 'wide' && items > MOST_LISTED) {
    const one = JSON.stringify(itemOf(plan, index, '{{ $position }}', namespace))
    return `deployItems:\n{{ range $position := until ${items} }}- ${one}\n{{ end }}`
  }
  const deployItems = Array.from({ length: items }, (_, position) => itemOf(plan, index, position, namespace))
  return JSON.stringify({ deployItems })
}

/** @param position a number, or the variable of the template's loop. */
function itemOf({ shape, deployer }: Plan, index: number, position: number | string, namespace: string): object {
  const name = `item-${position}`
  const before = shape === 'chain' ? Number(position) - 1 : -1
  const dependsOn = before >= 0 ? { dependsOn: [`item-${before}`] } : {}
  if (deployer === 'mock') {
    const providerStatus = { apiVersion: MOCK_API, kind: 'ProviderStatus', key: name }
    return item({ name, config: { providerStatus }, ...dependsOn })
  }
  const data = { installation: String(index), item: String(position) }
  const manifest = configMap(`${DEPLOYED_PREFIX}${index}-${position}`, namespace, data)
  return {
    name,
    type: MANIFEST_TYPE,
    target: { import: IMPORT },
    config: {
      apiVersion: MANIFEST_API,
      kind: 'ProviderConfiguration',
      updateStrategy: 'update',
      manifests: [{ policy: 'manage', manifest }],
    },
    ...dependsOn,
  }
}

/** The Target of the manifest items: the cluster itself, with the administrator's kubeconfig. */
async function createTargets({ kube, set, namespaces }: Place): Promise<void> {
  const kubeconfig = await readFile(set.kubeconfigPath, 'utf8')
  await inParallel(namespaces, PARALLEL, async (namespace) => {
    const metadata = { name: TARGET, namespace }
    const spec = { type: TARGET_TYPE, config: { kubeconfig } }
    await createAll(kube, `/apis/${API}/namespaces/${namespace}/targets`, [
      { apiVersion: API, kind: 'Target', metadata, spec },
    ])
  })
}

export const installations: Subject = {
  resource: { apiVersion: API, plural: 'installations' },
  operations: OPERATIONS,
  async prepare(place, { deployer }) {
    if (deployer === 'manifest') await createTargets(place)
  },
  body: installationBody,
  // An Installation has finished when it has a new job and jobIDFinished = jobID. A deletion has finished when the object does not exist.
  endOf(operation, { status = {} }, { isDeleted, jobBefore }) {
    if (isDeleted) return operation === 'delete' ? 'succeeded' : 'failed'
    const { jobID, jobIDFinished, phase } = status
    if (jobID === undefined || jobID === jobBefore || jobID !== jobIDFinished) return undefined
    return operation !== 'delete' && phase === 'Succeeded' ? 'succeeded' : 'failed'
  },
  async counts(place, { objects, items, deployer }, { operation, jobIDs }) {
    const [expected, expectedItems] = operation === 'delete' ? [0, 0] : [objects, objects * items]
    const list = async (plural: string, apiVersion = API) => await listAll(place, { apiVersion, plural })
    const deployItems = await list('deployitems')
    const succeeded = deployItems.filter(
      ({ status }) => status?.phase === 'Succeeded' && jobIDs.has(status.jobIDFinished ?? ''),
    )
    const maps = deployer === 'manifest' ? await list('configmaps', 'v1') : []
    const deployed = maps.filter(({ metadata }) => metadata.name.startsWith(DEPLOYED_PREFIX)).length
    return [
      ['installations', (await list('installations')).length, expected],
      ['executions', (await list('executions')).length, expected],
      ['deploy items', deployItems.length, expectedItems],
      ['deploy items that succeeded with the newest job', succeeded.length, expectedItems],
      ['deployed ConfigMaps', deployed, deployer === 'manifest' ? expectedItems : 0],
    ]
  },
}
