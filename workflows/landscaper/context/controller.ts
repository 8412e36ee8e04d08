// Gives each namespace its Context `default`, when `--default-contexts` says so. Source: spec/landscaper.md 1.7, 5.4.
//
//   C1. One that is there is left as it is, whoever has made it, but for the repository that is configured: nothing else is anybody's but its author's.
//   C2. It stays when it is wanted no more: Installations may rely on it.

import { action, activitiesOf, defineLevel, done, type LevelPass, type ObjectMeta } from '../../kit/index.ts'
import { replacing } from '../repository-flag.ts'
import { type Context, contextKind } from './kind.ts'

const defaults = activitiesOf(() => import('../../../activities/landscaper/context/default-contexts.ts'), {
  describeContext: { timeoutMs: 10_000 },
})

interface Namespace {
  readonly metadata: Pick<ObjectMeta, 'name'>
}

export interface ContextState {
  /** Of the namespace; undefined: it has none. */
  readonly context: Context | undefined
}

const KIND = `${contextKind.apiVersion}/${contextKind.kind}`
/** Installations without `spec.context` name it. */
const NAME = 'default'

const giveContext = action<LevelPass<ContextState, Namespace>>('giveContext', async (pass) => {
  const { state, act, call } = pass
  const namespace = pass.target.metadata.name
  const wanted = await call(defaults).describeContext({ namespace })
  if (wanted === null) return done
  const { repositoryContext } = wanted
  const { apiVersion, kind } = contextKind
  if (state.context === undefined) {
    const fields = repositoryContext === undefined ? {} : { repositoryContext }
    // One that came first wakes the namespace.
    await act.create({ apiVersion, kind, metadata: { name: NAME, namespace }, ...fields }, { owner: 'none' })
    return done
  }
  const change = repositoryContext && replacing(state.context.repositoryContext, repositoryContext)
  if (change !== undefined) await act.patch(state.context, { repositoryContext: change })
  return done
})

export const contextController = defineLevel<ContextState, Namespace>({
  name: 'context',
  target: { apiVersion: 'v1', kind: 'Namespace', plural: 'namespaces', withoutNamespace: true, isReadOnly: true },
  queries: { context: { kind: KIND, name: NAME, namespace: '${target.metadata.name}' } },
  plan: giveContext,
  activities: defaults,
  // Only workers with the flag ask it: others would get tasks that they cannot run.
  settings: { queue: 'default-contexts' },
  plurals: { [KIND]: contextKind.plural },
  writes: [{ kind: KIND, verbs: ['create', 'patch'] }],
})
