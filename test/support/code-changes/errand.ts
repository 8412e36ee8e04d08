// The controller of Errands with an additional step before the step that calls the activity. A run that waits for its
// activity cannot be replayed with this code.

import { action, done } from 'pawl/kit'

import { errandController, type ErrandPass } from '../level/errand.ts'

const lookAgain = action<ErrandPass>('lookAgain', async (pass) => {
  await pass.refresh('note')
  return done
})

export const controllers = [errandController(lookAgain)]
