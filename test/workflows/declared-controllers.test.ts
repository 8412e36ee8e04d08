// Tests that the documents of Pawl's own controllers match the code: activities read exactly the objects that the
// queries select, also when a test replaces a query, and plans have exactly the declared actions.

import { MANAGED_BY_LABEL, ENCOMPASSED_BY_LABEL } from '../../workflows/landscaper/contract.ts'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'

import fc from 'fast-check'
import { describe, expect, it } from 'vitest'

import type { LandscaperDeps } from '../../activities/landscaper/deps.ts'
import { desiredDeployItem } from '../../activities/landscaper/execution/items.ts'
import { observeActivities as executionActivities } from '../../activities/landscaper/execution/observe.ts'
import { observeActivities as installationActivities } from '../../activities/landscaper/installation/observe.ts'
import type { KubeObject } from '../../activities/kube/client.ts'
import { storedAs } from '../../activities/kube/object-views.ts'
import { deployer as mockDeployer } from '../../activities/landscaper/deploy/mock/deployer.ts'
import { deployItemKind } from '../../workflows/landscaper/deploy-item/kind.ts'
import { deployPlan } from '../../workflows/landscaper/deploy-item/plan.ts'
import { executionController } from '../../workflows/landscaper/execution/controller.ts'
import { executionQueries } from '../../workflows/landscaper/execution/controller.gen.ts'
import { executionKind } from '../../workflows/landscaper/execution/kind.ts'
import { executionPlan } from '../../workflows/landscaper/execution/plan.ts'
import { installationController } from '../../workflows/landscaper/installation/controller.ts'
import { installationQueries } from '../../workflows/landscaper/installation/controller.gen.ts'
import { installationKind } from '../../workflows/landscaper/installation/kind.ts'
import { installationPlan } from '../../workflows/landscaper/installation/plan.ts'
import { targetKind } from '../../workflows/landscaper/target/kind.ts'
import { camelCase, compile } from '../../workflows/kit/dsl/index.ts'
import {
  type DrawnPhases,
  type JobModeController,
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
const byOf = (controller: string) => ({ workflowID: `${controller}/uid-target/job`, runID: 'run', pass: 1 })
const CONFIG = { apiVersion: 'v1', kind: 'Any' }
const KINDS = [installationKind, executionKind, deployItemKind]

const subjectOf = ({ kind }: Kind) => ({ kind, ...PLACE })

const targetOf = ({ apiVersion, kind }: Kind): KubeObject => ({
  apiVersion,
  kind,
  metadata: { ...PLACE, resourceVersion: '1' },
  spec: {},
  status: { jobID: JOB },
})

const owner = ({ apiVersion, kind }: Kind, uid: string, controller: boolean): OwnerReference => ({
  apiVersion,
  kind,
  name: PLACE.name,
  uid,
  ...(controller && { controller }),
})
// Selected values occur more often, so that a small random list contains several selected objects.
const OWN_LABELS = { [MANAGED_BY_LABEL]: PLACE.name, [ENCOMPASSED_BY_LABEL]: PLACE.name }
const CHANGED_LABELS = { tier: `${PLACE.namespace}-${PLACE.uid}` }
const ownersOf = (target: Kind) => [
  [owner(target, PLACE.uid, true)],
  [owner(target, PLACE.uid, true)],
  [owner(target, PLACE.uid, true)],
  [owner(target, PLACE.uid, true)],
  [owner(target, PLACE.uid, false)],
  [owner(target, 'uid-before', true)],
  [owner(target, 'uid-before', true), owner(target, PLACE.uid, false)],
  // The same uid with another kind: not the target.
  [owner(targetKind, PLACE.uid, true)],
  [],
]

/** Random objects of a kind, with and without the target's name, namespace, labels and owner reference. */
const childrenOf = (target: Kind, children: Kind): fc.Arbitrary<readonly KubeObject[]> =>
  fc
    .uniqueArray(
      fc.record({
        name: fc.constantFrom(PLACE.name, 'x-a', 'x-b', 'y'),
        namespace: fc.constantFrom(PLACE.namespace, PLACE.namespace, 'elsewhere'),
        labels: fc.constantFrom<Record<string, string>>(
          ...[OWN_LABELS, OWN_LABELS, CHANGED_LABELS, { ...OWN_LABELS, ...CHANGED_LABELS }],
          ...[{ [MANAGED_BY_LABEL]: 'y' }, { other: PLACE.name }],
        ),
        ownerReferences: fc.constantFrom(...ownersOf(target)),
      }),
      { maxLength: 8, selector: ({ name, namespace }) => `${namespace}/${name}` },
    )
    .map((found) => storedChildren(children, found))

const storedChildren = ({ apiVersion, kind }: Kind, found: readonly object[]): readonly KubeObject[] =>
  found.map((metadata, index) => ({
    apiVersion,
    kind,
    metadata: { ...(metadata as { name: string }), uid: `uid-${index}`, resourceVersion: '1' },
    spec: { type: mockDeployer.type },
    status: { jobID: JOB },
  }))

/** Two objects that all queries here select; a query by name selects one of them. Random lists may contain none. */
const twoOf = (target: Kind, children: Kind): readonly KubeObject[] => {
  const { namespace } = PLACE
  const [labels, ownerReferences] = [{ ...OWN_LABELS, ...CHANGED_LABELS }, [owner(target, PLACE.uid, true)]]
  return storedChildren(
    children,
    // If target and children have the same kind, the target has this name already.
    [target === children ? 'x-b' : PLACE.name, 'x-a'].map((name) => ({ name, namespace, labels, ownerReferences })),
  )
}

/** The uids of the objects that the query selects for a target of this kind. */
function selected(query: StateQuery, kind: Kind, objects: readonly KubeObject[]): readonly string[] {
  const selection = selectionOf(query, targetOf(kind))
  return objects
    .filter((one) => `${String(one['apiVersion'])}/${String(one['kind'])}` === query.kind)
    .filter(({ metadata }) => metadata.namespace === selection?.namespace)
    .filter(({ metadata }) => selection?.name === undefined || metadata.name === selection.name)
    .filter((one) => hasLabels(one, selection?.labelSelector ?? ''))
    .filter(({ metadata }) => query.owned !== true || isControlled(kind, metadata.ownerReferences ?? []))
    .map(({ metadata }) => metadata.uid ?? '')
    .sort()
}

const isControlled = (target: Kind, owners: readonly OwnerReference[]) =>
  owners.some(({ kind, uid, controller }) => kind === target.kind && uid === PLACE.uid && controller === true)

/** Queries that replace the query of a state in the documents. */
const BY_UID: StateQuery = {
  kind: executionQueries.deployItems.kind,
  many: true,
  labels: { tier: '${target.metadata.namespace}-${target.metadata.uid}' },
  owned: true,
}
const BY_BOTH: StateQuery = { ...BY_UID, labels: { ...BY_UID.labels, ...executionQueries.deployItems.labels } }
const ALL_OWNED: StateQuery = { kind: BY_UID.kind, many: true, owned: true }
const OTHER_NAME: StateQuery = { ...installationQueries.execution, name: '${target.metadata.name}-a' }

const SUBS_OF_TIER: StateQuery = { ...BY_UID, kind: installationQueries.subInstallations.kind }

describe('what the activities of a controller observe', () => {
  const sees = async (
    controllers: readonly JobModeController[],
    { target, children }: { readonly target: Kind; readonly children: Kind },
    query: StateQuery,
    look: (deps: LandscaperDeps) => Promise<readonly { readonly uid: string }[]>,
  ) => {
    let most = 0
    await fc.assert(
      fc.asyncProperty(childrenOf(target, children), async (objects) => {
        const seen = await look(listingDeps([targetOf(target), ...objects], KINDS, controllers))
        const uids = seen.map(({ uid }) => uid).sort()
        expect(uids).toEqual(selected(query, target, objects))
        most = Math.max(most, uids.length)
      }),
      { numRuns: 300, examples: [[twoOf(target, children)]] },
    )
    return most
  }

  it.each([installationQueries.execution, OTHER_NAME])('is what an Installation declares: %j', async (query) => {
    const kinds = { target: installationKind, children: executionKind }
    const controller = { ...installationController, queries: { ...installationQueries, execution: query } }
    // The activity reads the Execution's items with the query of the Execution's controller.
    const most = await sees([controller, executionController], kinds, query, async (deps) => {
      const given = { by: byOf('installation'), subject: subjectOf(installationKind), known: {} }
      const { execution } = await installationActivities(deps).observeInstallation(given)
      return execution === undefined ? [] : [execution]
    })
    expect(most).toBe(1)
  })

  it.each([installationQueries.subInstallations, SUBS_OF_TIER])(
    'is what an Installation declares of those that it has made: %j',
    async (query) => {
      const kinds = { target: installationKind, children: installationKind }
      const controller = { ...installationController, queries: { ...installationQueries, subInstallations: query } }
      const most = await sees([controller, executionController], kinds, query, async (deps) => {
        const given = { by: byOf('installation'), subject: subjectOf(installationKind), known: {} }
        return (await installationActivities(deps).observeInstallation(given)).subInstallations.changed
      })
      expect(most).toBeGreaterThan(1)
    },
  )

  it.each([executionQueries.deployItems, BY_UID, BY_BOTH, ALL_OWNED])(
    'is what an Execution declares: %j',
    async (query) => {
      const kinds = { target: executionKind, children: deployItemKind }
      const controller = { ...executionController, queries: { deployItems: query } }
      const most = await sees([controller], kinds, query, async (deps) => {
        const given = { by: byOf('execution'), subject: subjectOf(executionKind), known: {} }
        return (await executionActivities(deps).observeExecution(given)).changed
      })
      expect(most).toBeGreaterThan(1)
    },
  )
})

describe('what an Execution makes of an item', () => {
  it('has the label that its controller selects by', () => {
    const { labels } = desiredDeployItem(storedAs(executionKind, targetOf(executionKind)), {
      name: 'a',
      type: mockDeployer.type,
      config: CONFIG,
    })
    const query = executionQueries.deployItems
    const selection = selectionOf(query, targetOf(executionKind))
    expect(Object.keys(query.labels)).toEqual([MANAGED_BY_LABEL])
    expect(hasLabels({ metadata: { name: 'a', labels } }, selection?.labelSelector ?? '')).toBe(true)
  })
})

describe('the plan of a controller', () => {
  const stepsOf = ({ phases, ending }: DrawnPhases) =>
    [...Object.values(phases).map(({ step }) => step), ...(ending === undefined ? [] : [ending])].map(toJson)

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

/** The names of the plan's leaf steps, without the kit's `nop`. */
function actionsOf({ name, children }: PlanJson): readonly string[] {
  return children.length > 0 ? children.flatMap(actionsOf) : name === 'nop' ? [] : [name]
}
