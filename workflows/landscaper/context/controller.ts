// Creates the Context `default` in each namespace when `--default-contexts` is set. Source: spec/landscaper.md 1.7, 5.4.
//
//   C1. An existing Context keeps all fields except the configured repository, whoever created it.
//   C2. Pawl never deletes a Context, because Installations may use it.

import { action, activitiesOf, defineLevel, done, type LevelPass, type ObjectMeta } from '../../kit/index.ts'
import { replacementPatch } from '../flag-values.ts'
import { type Context, contextKind } from './kind.ts'

const defaults = activitiesOf(() => import('../../../activities/landscaper/context/default-contexts.ts'), {
  describeContext: { timeoutMs: 10_000 },
})

interface Namespace {
  readonly metadata: Pick<ObjectMeta, 'name'>
}

export interface ContextState {
  /** The namespace's Context; undefined if it does not exist. */
  readonly context: Context | undefined
}

const KIND = `${contextKind.apiVersion}/${contextKind.kind}`
/** The Context of Installations without `spec.context`. */
const NAME = 'default'

const applyDefaultContext = action<LevelPass<ContextState, Namespace>>('giveContext', async (pass) => {
  const { state, act, call } = pass
  const namespace = pass.target.metadata.name
  const wanted = await call(defaults).describeContext({ namespace })
  if (wanted === null) return done
  const { repositoryContext } = wanted
  const { apiVersion, kind } = contextKind
  if (state.context === undefined) {
    const fields = repositoryContext === undefined ? {} : { repositoryContext }
    // If another client created the Context first, its event wakes the namespace.
    await act.create({ apiVersion, kind, metadata: { name: NAME, namespace }, ...fields }, { owner: 'none' })
    return done
  }
  const change = repositoryContext && replacementPatch(state.context.repositoryContext, repositoryContext)
  if (change !== undefined) await act.patch(state.context, { repositoryContext: change })
  return done
})

export const contextController = defineLevel<ContextState, Namespace>({
  name: 'context',
  target: { apiVersion: 'v1', kind: 'Namespace', plural: 'namespaces', withoutNamespace: true, isReadOnly: true },
  queries: { context: { kind: KIND, name: NAME, namespace: '${target.metadata.name}' } },
  plan: applyDefaultContext,
  activities: defaults,
  // Only workers with the flag poll this queue. Other workers could not run the tasks.
  settings: { queue: 'default-contexts' },
  plurals: { [KIND]: contextKind.plural },
  writes: [{ kind: KIND, verbs: ['create', 'patch'] }],
})
