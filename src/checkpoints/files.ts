/** The group: its central model, and the vectors that its rule keeps from round to round. */
export const GROUP_FILE = 'group.safetensors'
/** The model that is evaluated, with its statistics, in the format of `save`. */
export const MODEL_FILE = 'model.safetensors'
/** A learner's weights and its optimiser's states. */
export const learnerFile = (rank: number): string => `learner-${rank}.safetensors`
