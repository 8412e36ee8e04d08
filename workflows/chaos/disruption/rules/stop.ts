// The emergency stop, for what would begin while it is on. Source: docs/chaos.md "Emergency stop".

import type { Problem } from '../../../kit/index.ts'
import { EMERGENCY_STOP_ANNOTATION } from '../../contract.ts'
import type { NamespaceView } from '../../emergency-stop.ts'

/** @param places the namespace of the Disruption and that of chaos pods, as far as they are there. */
export function stopProblems(places: readonly NamespaceView[]): readonly Problem[] {
  return places.flatMap(({ name, stop }) => {
    if (stop === undefined) return []
    const why = stop === '' || stop === 'true' ? '' : `: ${stop}`
    const found = `an emergency stop of namespace ${name} (annotation ${EMERGENCY_STOP_ANNOTATION})${why}`.slice(
      0,
      1000,
    )
    return [{ field: '', found, expected: 'a new Disruption when it is lifted' }]
  })
}
