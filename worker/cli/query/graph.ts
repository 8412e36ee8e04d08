// The command `pawl graph`: draws the parts of an object, their order and their data flow.

import type { Command } from 'commander'

import { groupKindOf, groupKindText, type JobModeController } from '../../../workflows/kit/index.ts'
import { readConfig } from '../../server/config.ts'
import { builtInRegistry } from '../../server/registry.ts'
import { type LiveRead, readLive } from '../live-objects.ts'
import type { UserFlags } from '../user.ts'
import { nodesOf } from './draw-job-tree.ts'
import { GRAPH_FORMATS, type GraphFormat, graphText } from './draw-graph.ts'
import { findJob } from './find-object.ts'
import { graphOf, type SiblingRules } from './graph-model.ts'
import { type JobNode, readJobTree } from './job-tree.ts'
import { objectCommand } from './object-command.ts'
import { nextQuery } from './next-step.ts'
import type { JournalFlags, JournalSession } from './open-journal.ts'

type GraphFlags = UserFlags & { readonly output: GraphFormat }

export function graphCommand(): Command {
  return objectCommand<object, GraphFormat>({
    name: 'graph',
    description: 'draw the parts of an object, their order, and the data that flows between them',
    formats: GRAPH_FORMATS,
    examples: ['pawl graph inst/shop', 'pawl graph inst/shop -o svg > shop.svg'],
    answer: graph,
  })
}

async function graph(
  journal: JournalSession,
  words: readonly string[],
  flags: JournalFlags & GraphFlags,
): Promise<string> {
  const { object, job } = await findJob(journal, words)
  const tree = withoutDeleted(await readJobTree(journal, object, job))
  const { rules, apis } = siblingRules()
  const reads = nodesOf(tree)
    .slice(1)
    .flatMap(({ object: { uid, namespace, name, ...of } }): readonly LiveRead[] => {
      const api = apis.get(groupKindText(of))
      return api === undefined ? [] : [{ ...api, uid, namespace, name }]
    })
  const live = await readLive(reads, flags, readConfig())
  for (const problem of live.problems)
    process.stderr.write(`pawl: API server: ${problem}; some data flow is not drawn\n`)
  const drawn = graphOf(tree, rules, live.objects)
  if (flags.output === 'text') {
    const next = `${nextQuery('graph', words, flags)} -o svg > ${object.name}.svg`
    return `${graphText(drawn, 'text', journal.paint)}\nnext: ${next}\n`
  }
  if (flags.output !== 'svg') return graphText(drawn, flags.output, journal.paint)
  const { svgText } = await import('./draw-graph.ts')
  return await svgText(graphText(drawn, 'dot', journal.paint))
}

/** Deleted objects are no parts any more. */
function withoutDeleted(node: JobNode): JobNode {
  return { ...node, children: node.children.filter(({ object }) => !object.deleted).map(withoutDeleted) }
}

/** By kind: the rules between siblings, and the resource to read if the rules need the objects' specs. */
function siblingRules() {
  const rules = new Map<string, SiblingRules>()
  const apis = new Map<string, { readonly apiVersion: string; readonly plural: string }>()
  for (const controller of builtInRegistry.controllers.values()) {
    if (controller.mode !== 'job') continue
    const { siblings, target }: JobModeController = controller
    if (siblings === undefined) continue
    const kind = groupKindText(groupKindOf(target))
    rules.set(kind, siblings)
    if (siblings.flow !== undefined) apis.set(kind, { apiVersion: target.apiVersion, plural: target.plural })
  }
  return { rules, apis }
}
