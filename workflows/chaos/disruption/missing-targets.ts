// Explains why a Disruption has fewer targets than its count: for its Events and for users who ask about its status.

import { labelSelectorText } from '../../kit/index.ts'
import type { DisruptionSpec } from './kind.ts'

type Selecting = Pick<DisruptionSpec, 'level' | 'onInit' | 'selector' | 'advancedSelector' | 'filter'>

/** Characters; the API server limits the message of an Event. */
const LONGEST_SELECTOR = 300

/** No object matches. The advice names another Disruption, because the selectors of this one cannot change. */
export function noTargetsText(spec: Selecting, namespace: string): string {
  const [state, place, resource] =
    spec.level === 'node'
      ? ['ready node', '', 'nodes']
      : [
          spec.onInit === true ? 'pod that waits for chaos-handler' : 'running pod',
          ` in namespace "${namespace}"`,
          `pods -n ${namespace}`,
        ]
  const { selector: matchLabels = {}, advancedSelector: matchExpressions = [], filter } = spec
  const selector = labelSelectorText({ matchLabels, matchExpressions })
  const isShort = selector !== undefined && selector.length <= LONGEST_SELECTOR
  const field = Object.keys(matchLabels).length === 0 ? 'spec.advancedSelector' : 'spec.selector'
  const matched = isShort ? `the selector ${selector}` : 'spec.selector and spec.advancedSelector'
  const command = isShort ? ` (see kubectl get ${resource} -l '${selector}')` : ''
  return `no ${state}${place} matches ${matched}${filter === undefined ? '' : ' and spec.filter'}; correct ${field} in a new Disruption, or start such a ${spec.level === 'node' ? 'node' : 'pod'}${command}`
}

/** Why fewer targets than matching objects were chosen. */
export const ALL_TAKEN =
  'all other matches are already targets of other Disruptions; wait for their end, or set spec.allowDisruptedTargets in a new Disruption'
