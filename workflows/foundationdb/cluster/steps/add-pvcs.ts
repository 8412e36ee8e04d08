// Step 10. Creates the volume claims of stateful process groups that are not to be removed. Source: seeds/foundationdb-operator-technical-design.txt AddPVCs;
// spec/foundationdb.md 2.10, 8.3.

import { clusterStep } from '../cluster-step.ts'
import { processGroupsIn } from '../context.ts'
import { expectedObjects } from '../expected-objects.ts'
import { isMarked } from '../process-groups.ts'

export const addPVCs = clusterStep('AddPVCs', async (context) => {
  const expected = expectedObjects(context)
  const known = new Set(context.claims.map(({ metadata }) => metadata.name))
  for (const group of processGroupsIn(context)) {
    const claim = isMarked(group) ? undefined : expected.claimOf(group)
    if (claim === undefined || known.has(claim.metadata.name)) continue
    await context.pass.act.create(claim)
  }
  return undefined
})
