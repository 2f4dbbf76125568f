/* Uses the runtime's C ABI alone: four ranks gather 3, 2, 2 and 1 rows. */

#include <shunt/runtime.h>

#include <stdio.h>

static int32_t gather(shunt_comm *comm, void *user) {
  const int64_t ranks[] = {0, 1, 2, 3}, counts[] = {3, 2, 2, 1};
  const int64_t rank = shunt_comm_rank(comm);
  float mine[3] = {0}, all[8];
  shunt_group *group;
  shunt_status status = shunt_group_create(comm, ranks, 4, &group);
  int64_t i;
  (void)user;
  for (i = 0; i < counts[rank]; ++i)
    mine[i] = (float)rank;
  if (status == SHUNT_OK)
    status = shunt_all_gather(comm, group, mine, counts[rank], all, 8, counts,
                              1, SHUNT_F32);
  if (status == SHUNT_OK && all[0] == 0 && all[4] == 1 && all[7] == 3)
    printf("rank %d has 8 rows\n", (int)rank);
  return status;
}

int main(void) {
  shunt_world *world;
  char error[256];
  shunt_status status =
      shunt_world_create("host", 4, NULL, &world, error, sizeof error);
  if (status != SHUNT_OK) {
    fprintf(stderr, "%s\n", error);
    return 1;
  }
  status = shunt_world_run(world, gather, NULL);
  shunt_world_destroy(world);
  return status == SHUNT_OK ? 0 : 1;
}
