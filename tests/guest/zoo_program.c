/* comm_zoo.c as a program, linked with libmpi. */
int zoo_main(int argc, char **argv);

int main(int argc, char **argv)
{
	return zoo_main(argc, argv);
}
