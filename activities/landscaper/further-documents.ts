// Reports YAML texts with more than one document where one is expected. Landscaper reads the first and ignores the others, and so does Pawl; the user
// must learn that part of the text has no effect.

import type { Subject } from '../../workflows/kit/index.ts'
import { recordWarning } from '../kube/events.ts'
import { hasFurtherDocuments } from '../yaml/further-documents.ts'
import type { TenantData } from './bounded/tenant-data.ts'
import type { LandscaperDeps } from './deps.ts'

// Each place is reported as an Event.
const MAX_REPORTED = 10

/** Wraps `data` and adds the places of texts with further documents to `places`. */
export function recordPlaces(data: TenantData, places: Set<string>): TenantData {
  const check = (text: string, place: string | undefined) => {
    if (place !== undefined && places.size < MAX_REPORTED && hasFurtherDocuments(text)) places.add(place)
  }
  return {
    ...data,
    async yaml(text, place) {
      const value = await data.yaml(text, place)
      check(text, place)
      return value
    },
    async definition(text, json) {
      const definition = await data.definition(text, json)
      check(text, 'blueprint.yaml')
      return definition
    },
  }
}

/** Records a Warning on the subject for each place; a job reports each place once. @throws nothing. */
export async function reportFurtherDocuments(
  deps: LandscaperDeps,
  { subject, apiVersion, jobID }: { readonly subject: Subject; readonly apiVersion: string; readonly jobID: string },
): Promise<void> {
  for (const place of deps.landscaper.furtherDocuments ?? []) {
    const message = `${place}: found more than one YAML document, only the first is used; remove the others`
    const report = { operation: 'ReadYAML', reason: 'FurtherDocuments', message }
    await recordWarning(deps, { ...subject, apiVersion }, jobID, report)
  }
}
