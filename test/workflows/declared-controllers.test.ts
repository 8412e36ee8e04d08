// The documents of Pawl's own controllers say what their activities and plans do: queries are not run in the modes job and group.

import { MANAGED_BY_LABEL } from '../../workflows/landscaper/contract.ts'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'

import fc from 'fast-check'
import { describe, expect, it } from 'vitest'

import { observeActivities as groupActivities } from '../../activities/landscaper/deploy/run/observe.ts'
import type { LandscaperDeps } from '../../activities/landscaper/deps.ts'
import { desiredDeployItem } from '../../activities/landscaper/execution/items.ts'
import { observeActivities as executionActivities } from '../../activities/landscaper/execution/observe.ts'
import { observeActivities as installationActivities } from '../../activities/landscaper/installation/observe.ts'
import type { KubeObject } from '../../activities/kube/client.ts'
import { storedAs } from '../../activities/kube/stored.ts'
import { deployGroupQueries } from '../../workflows/landscaper/deploy-item/controller.gen.ts'
import { deployer as mockDeployer } from '../../activities/landscaper/deploy/mock/deployer.ts'
import { deployItemKind } from '../../workflows/landscaper/deploy-item/kind.ts'
import { deployPlan } from '../../workflows/landscaper/deploy-item/plan.ts'
import { executionQueries } from '../../workflows/landscaper/execution/controller.gen.ts'
import { executionKind } from '../../workflows/landscaper/execution/kind.ts'
import { executionPlan } from '../../workflows/landscaper/execution/plan.ts'
import { installationQueries } from '../../workflows/landscaper/installation/controller.gen.ts'
import { installationKind } from '../../workflows/landscaper/installation/kind.ts'
import { installationPlan } from '../../workflows/landscaper/installation/plan.ts'
import { camelCase, compile } from '../../workflows/kit/dsl/index.ts'
import {
  type DrawnPhases,
  type Kind,
  type OwnerReference,
  type PlanJson,
  selectionOf,
  type StateQuery,
  toJson,
} from '../../workflows/kit/index.ts'
import { hasLabels, listingDeps } from './listing-deps.ts'

const JOB = 'job'
const PLACE = { uid: 'uid-target', namespace: 'n', name: 'x' }
const BY = { workflowID: 'run', runID: 'run', pass: 1 }
const CONFIG = { apiVersion: 'v1', kind: 'Any' }
const KINDS = [installationKind, executionKind, deployItemKind]

const subjectOf = ({ kind }: Kind) => ({ kind, ...PLACE })

const targetOf = ({ apiVersion, kind }: Kind): KubeObject => ({
  ...{ apiVersion, kind, metadata: { ...PLACE, resourceVersion: '1' } },
  ...{ spec: {}, status: { jobID: JOB } },
})

const owner = (uid: string, controller: boolean): OwnerReference => ({
  ...{ apiVersion: executionKind.apiVersion, kind: 'Execution', name: PLACE.name },
  ...{ uid, ...(controller && { controller }) },
})
// What is selected comes more often, so that several are among a few objects.
const OWN_LABELS = { [MANAGED_BY_LABEL]: PLACE.name }
const OWNERS = [
  [owner(PLACE.uid, true)],
  [owner(PLACE.uid, true)],
  [owner(PLACE.uid, true)],
  [owner(PLACE.uid, true)],
  [owner(PLACE.uid, false)],
  [owner('uid-before', true)],
  [owner('uid-before', true), owner(PLACE.uid, false)],
  [],
]

/** Objects of a kind: called as the target or otherwise, beside it or elsewhere, labelled or not, controlled by it or not. */
const childrenOf = ({ apiVersion, kind }: Kind): fc.Arbitrary<readonly KubeObject[]> =>
  fc
    .uniqueArray(
      fc.record({
        name: fc.constantFrom(PLACE.name, 'x-a', 'x-b', 'y'),
        namespace: fc.constantFrom(PLACE.namespace, PLACE.namespace, 'elsewhere'),
        labels: fc.constantFrom(OWN_LABELS, OWN_LABELS, { [MANAGED_BY_LABEL]: 'y' }, { other: PLACE.name }),
        ownerReferences: fc.constantFrom(...OWNERS),
      }),
      { maxLength: 8, selector: ({ name, namespace }) => `${namespace}/${name}` },
    )
    .map((found) =>
      found.map((metadata, index) => ({
        ...{ apiVersion, kind, metadata: { ...metadata, uid: `uid-${index}`, resourceVersion: '1' } },
        ...{ spec: { type: mockDeployer.type }, status: { jobID: JOB } },
      })),
    )

/** The uids of what the query selects for a target of this kind. */
function selected(query: StateQuery, kind: Kind, objects: readonly KubeObject[]): readonly string[] {
  const selection = selectionOf(query, targetOf(kind))
  return objects
    .filter((one) => `${String(one['apiVersion'])}/${String(one['kind'])}` === query.kind)
    .filter(({ metadata }) => metadata.namespace === selection?.namespace)
    .filter(({ metadata }) => selection?.name === undefined || metadata.name === selection.name)
    .filter((one) => hasLabels(one, selection?.labelSelector ?? ''))
    .filter(({ metadata }) => query.owned !== true || isControlled(metadata.ownerReferences ?? []))
    .map(({ metadata }) => metadata.uid ?? '')
    .sort()
}

const isControlled = (owners: readonly OwnerReference[]) =>
  owners.some(({ uid, controller }) => uid === PLACE.uid && controller === true)

describe('what the activities of a controller observe', () => {
  const sees = async (
    query: StateQuery,
    { target, children }: { readonly target: Kind; readonly children: Kind },
    look: (deps: LandscaperDeps) => Promise<readonly { readonly uid: string }[]>,
  ) => {
    let most = 0
    await fc.assert(
      fc.asyncProperty(childrenOf(children), async (objects) => {
        const seen = await look(listingDeps([targetOf(target), ...objects], KINDS))
        const uids = seen.map(({ uid }) => uid).sort()
        expect(uids).toEqual(selected(query, target, objects))
        most = Math.max(most, uids.length)
      }),
      { numRuns: 300 },
    )
    return most
  }

  it('is what an Installation declares', async () => {
    const kinds = { target: installationKind, children: executionKind }
    const subject = subjectOf(installationKind)
    const most = await sees(installationQueries.execution, kinds, async (deps) => {
      const { execution } = await installationActivities(deps).observeInstallation({ by: BY, subject })
      return execution === undefined ? [] : [execution]
    })
    expect(most).toBe(1)
  })

  it('is what an Execution declares', async () => {
    const kinds = { target: executionKind, children: deployItemKind }
    const subject = subjectOf(executionKind)
    const most = await sees(executionQueries.deployItems, kinds, async (deps) => {
      const { changed } = await executionActivities(deps).observeExecution({ by: BY, subject, known: {} })
      return changed
    })
    expect(most).toBeGreaterThan(1)
  })

  it('is what a deploy group declares, of items of built-in types that have its job', async () => {
    const kinds = { target: executionKind, children: deployItemKind }
    const subject = subjectOf(executionKind)
    const most = await sees(deployGroupQueries.items, kinds, async (deps) => {
      const { changed } = await groupActivities(deps).observeDeployGroup({ by: BY, subject, jobID: JOB, known: {} })
      return changed
    })
    expect(most).toBeGreaterThan(1)
  })
})

describe('what an Execution makes of an item', () => {
  it.each([executionQueries.deployItems, deployGroupQueries.items])('has the label that %j selects by', (query) => {
    const { labels } = desiredDeployItem(storedAs(executionKind, targetOf(executionKind)), {
      name: 'a',
      type: mockDeployer.type,
      config: CONFIG,
    })
    const selection = selectionOf(query, targetOf(executionKind))
    expect(Object.keys(query.labels)).toEqual([MANAGED_BY_LABEL])
    expect(hasLabels({ metadata: { name: 'a', labels } }, selection?.labelSelector ?? '')).toBe(true)
  })
})

describe('the plan of a controller', () => {
  const stepsOf = ({ phases }: DrawnPhases) => Object.values(phases).map(({ step }) => toJson(step))

  it.each([
    ['landscaper/installation', stepsOf(installationPlan)],
    ['landscaper/execution', stepsOf(executionPlan)],
    ['landscaper/deploy-item', [toJson(deployPlan)]],
  ])('of %s has all actions of its document, under their names', async (folder, steps) => {
    const text = await readFile(join(import.meta.dirname, '../../workflows', folder, 'controller.cm'), 'utf8')
    const { document, diagnostics } = compile(text, { source: 'controller.cm', kit: '' })
    const declared = document.declarations.flatMap(({ actions }) => actions.map(({ name }) => camelCase(name.text)))
    expect(diagnostics).toEqual([])
    expect(declared.length).toBeGreaterThan(1)
    expect([...new Set(steps.flatMap(actionsOf))].sort()).toEqual(declared.sort())
  })
})

/** The names of the leaves; `nop` is the kit's. */
function actionsOf({ name, children }: PlanJson): readonly string[] {
  return children.length > 0 ? children.flatMap(actionsOf) : name === 'nop' ? [] : [name]
}
